import { describe, expect, it } from 'vitest';
import { CALL_FAULTS, OTHER_FAULTS, Tally } from './chaos.js';
import { CLIENT_OPERATIONS, SUBMISSIONS } from './client.js';
import { MUTATIONS } from './mutations.js';
import { BEHAVIOURS } from './processors.js';
import { type Simulated, simulate } from './simulate.js';
import { OUTCOMES } from './witness.js';
import { INSTANCE_OPERATIONS } from './world.js';

/** One seed to replay, or where to begin and how many. The store no longer changes, so `npm test` runs few. */
const { MILLRACE_SIM_SEED, MILLRACE_SIM_VERBOSE, MILLRACE_SIM_FROM, MILLRACE_SIM_SEEDS } = process.env;
const FROM = Number(MILLRACE_SIM_FROM ?? 1);
const SEEDS = Number(MILLRACE_SIM_SEEDS ?? 200);
const PARTS = 4;
const PART = Math.ceil(SEEDS / PARTS);
const PART_TIMEOUT_MS = Math.max(60_000, PART * 60);
const MUTATION_SEEDS = 400;
/** With fewer seeds the rare things need not occur. */
const SEEDS_FOR_ALL = 500;

const told = ({ seed, violations, lines }: Simulated): string =>
  [
    ...lines,
    `Seed ${seed} breaks ${violations.length} promises; replay it with: MILLRACE_SIM_SEED=${seed} npx vitest run packages/bulk-action/test/simulation --mode slow`,
    ...violations.slice(0, 10).map(({ invariant, message }) => `  ${invariant} ${message}`),
  ].join('\n');

/** The first seed that notices a broken store. */
async function caughtBy({ mutate }: (typeof MUTATIONS)[number]): Promise<Simulated | undefined> {
  for (let seed = 1; seed <= MUTATION_SEEDS; seed++) {
    const simulated = await simulate(seed, { mutate });
    if (simulated.violations.length > 0) return simulated;
  }
  return undefined;
}

function replayOne(seed: number): void {
  it(`bulk-action BA-15: seed ${seed} keeps every promise`, async () => {
    const simulated = await simulate(seed, { verbose: MILLRACE_SIM_VERBOSE !== undefined });
    console.log([...simulated.lines, `${simulated.steps} steps, hash ${simulated.hash}`].join('\n'));
    expect(simulated.violations.length, told({ ...simulated, lines: [] })).toBe(0);
  });
}

function simulateMany(): void {
  const tally = new Tally();

  for (let part = 0; part < PARTS; part++) {
    const [first, last] = [FROM + part * PART, FROM + (part + 1) * PART - 1];
    it(
      `bulk-action BA-15, BA-18: seeds ${first} to ${last}, with faults at every step, keep every promise`,
      async () => {
        for (let seed = first; seed <= last; seed++) {
          const simulated = await simulate(seed, { tally });
          expect(simulated.violations.length, told(simulated)).toBe(0);
        }
      },
      PART_TIMEOUT_MS,
    );
  }

  if (SEEDS >= SEEDS_FOR_ALL)
    it('bulk-action BA-15, BA-18: the seeds have met every fault, operation, behaviour and refusal', () => {
      const wanted = [
        ...CALL_FAULTS,
        ...OTHER_FAULTS,
        ...SUBMISSIONS,
        ...CLIENT_OPERATIONS,
        ...INSTANCE_OPERATIONS,
        ...BEHAVIOURS,
        ...OUTCOMES,
      ];
      console.log(`${SEEDS} seeds met: ${wanted.map((name) => `${name} ${tally.of(name)}`).join(', ')}`);
      expect(wanted.filter((name) => tally.of(name) === 0)).toEqual([]);
    });

  it('bulk-action BA-15: the same seed gives the same run, step for step', async () => {
    const hashes = new Set<string>();
    for (let seed = 1; seed <= 40; seed++) {
      const [first, second] = [await simulate(seed), await simulate(seed)];
      expect(second.hash, `seed ${seed}`).toBe(first.hash);
      hashes.add(first.hash);
    }
    expect(hashes.size).toBe(40);
  });

  for (const mutation of MUTATIONS)
    it(`bulk-action BA-15: the simulation notices when ${mutation.name}`, async () => {
      const caught = await caughtBy(mutation);
      const broken = caught?.violations.map(({ invariant }) => invariant) ?? [];
      expect(
        mutation.breaks.some((invariant) => broken.includes(invariant)),
        `broken: ${broken}`,
      ).toBe(true);
    });
}

describe('bulk-action BA-15, BA-18: simulation of the whole engine', () => {
  if (MILLRACE_SIM_SEED === undefined) simulateMany();
  else replayOne(Number(MILLRACE_SIM_SEED));
});
