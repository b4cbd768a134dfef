import { describe, expect, it } from 'vitest';
import { ACTIONS } from './actions.js';
import { FAULTS } from './faults.js';
import { firstToNotice, MUTANTS } from './mutants.js';
import { type Simulated, simulate } from './simulate.js';
import { Tally } from './trace.js';

/** Set by `npm run simulate`: one seed to replay, or where to begin and how many. */
const { MILLRACE_SIM_SEED, MILLRACE_SIM_VERBOSE, MILLRACE_SIM_FROM, MILLRACE_SIM_SEEDS } = process.env;
const FROM = Number(MILLRACE_SIM_FROM ?? 1);
const SEEDS = Number(MILLRACE_SIM_SEEDS ?? 2_000);
const PARTS = 4;
const PART = Math.ceil(SEEDS / PARTS);
/** In every so many seeds the engine is rebuilt at each commit. */
const THOROUGH = MILLRACE_SIM_SEEDS === undefined ? 20 : 1;
/** With fewer seeds the rare things need not occur. */
const SEEDS_FOR_ALL = 500;
const OTHERS = ['takeover', 'GROUP_SEALED', 'GROUP_ENDED', 'repeat what was given back'];
const OUTCOMES = ['success', 'failure', 'retry', 'throttled', 'returned'].map((kind) => `outcome ${kind}`);

const told = ({ seed, violations, lines }: Simulated): string =>
  [
    ...lines,
    `Seed ${seed} breaks ${violations.length} promises; replay it with: npm run simulate -- --seed ${seed} --verbose`,
    ...violations.slice(0, 10).map(({ invariant, message }) => `  ${invariant} ${message}`),
  ].join('\n');

function replayOne(seed: number): void {
  it(`seed ${seed} keeps every promise`, () => {
    const simulated = simulate(seed, { isThorough: true, isVerbose: MILLRACE_SIM_VERBOSE !== undefined });
    console.log(simulated.lines.join('\n'));
    expect(simulated.violations.length, told({ ...simulated, lines: [] })).toBe(0);
  });
}

function simulateMany(): void {
  const tally = new Tally();

  for (let part = 0; part < PARTS; part++) {
    const [first, last] = [FROM + part * PART, FROM + (part + 1) * PART - 1];
    it(
      `seeds ${first} to ${last}, with faults and takeovers at every step, keep every promise`,
      () => {
        for (let seed = first; seed <= last; seed++) {
          const simulated = simulate(seed, { tally, isThorough: seed % THOROUGH === 0 });
          expect(simulated.violations.length, told(simulated)).toBe(0);
        }
      },
      Math.max(60_000, PART * 100),
    );
  }

  if (SEEDS >= SEEDS_FOR_ALL)
    it('the seeds have met every action, fault, outcome and refusal', () => {
      const wanted = [...ACTIONS, ...FAULTS].map(({ name }) => name).concat(OTHERS, OUTCOMES);
      expect(wanted.filter((name) => !tally.counts.has(name))).toEqual([]);
    });

  it('the same seed gives the same run, step for step', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const [first, second] = [simulate(seed, { isVerbose: true }), simulate(seed, { isVerbose: true })];
      expect(second.lines, `seed ${seed}`).toEqual(first.lines);
    }
  });

  it.each(MUTANTS)('the simulation notices when $name', async (mutant) => {
    expect(await firstToNotice(mutant), `${mutant.name} breaks ${mutant.breaks} in no seed`).toBeDefined();
  });
}

describe('simulation of the new engine', () => {
  if (MILLRACE_SIM_SEED === undefined) simulateMany();
  else replayOne(Number(MILLRACE_SIM_SEED));
});
