import { beforeAll, expect, it } from 'vitest';
import { Tally } from '../simulation/chaos.js';
import { CASES } from './cases.js';
import { CHOSEN_SEEDS, PLAIN_SEEDS } from './chosen-seeds.js';
import type { Command } from './commands.js';
import { compareSeed, type Finding, type Pair, replay } from './compare.js';
import { told } from './report.js';
import { shorten } from './shorten.js';
import { tellingSeeds } from './telling-seeds.js';
import { WANTED } from './wanted.js';

/** One seed to replay; or where to begin and how many. */
const { MILLRACE_DIFF_SEED, MILLRACE_DIFF_FROM, MILLRACE_DIFF_SEEDS, MILLRACE_DIFF_CHOOSE } = process.env;
const FROM = Number(MILLRACE_DIFF_FROM ?? 1);
const SEEDS = Number(MILLRACE_DIFF_SEEDS ?? 520);
const PARTS = 4;
const PART = Math.ceil(SEEDS / PARTS);
const TIMEOUT_MS = Math.max(180_000, PART * 500);
/** With fewer seeds the rare things need not occur. */
const SEEDS_FOR_ALL = 520;
/** Sequences that run side by side: while one waits for its store, another goes on. */
const AT_ONCE = 8;
/** A case has many commands that only prepare it; a hundred ways to leave some out take long enough. */
const CASE_REPLAYS = 100;

/** Those that tell something new, unless a number of seeds is asked for: then that many. */
export async function chooseSeeds(): Promise<readonly number[]> {
  if (MILLRACE_DIFF_SEEDS !== undefined) return Array.from({ length: SEEDS }, (_, n) => FROM + n);
  if (MILLRACE_DIFF_CHOOSE === undefined) return [...CHOSEN_SEEDS, ...PLAIN_SEEDS];
  const chosen = await tellingSeeds(FROM, SEEDS);
  console.log(`for chosen-seeds.ts: ${[...chosen].sort((a, b) => a - b).join(', ')}`);
  return chosen;
}

/**
 * Registers the comparison of two stores: the same commands, the same answers.
 * @param file - the test file, for the line that replays a difference.
 */
export function differential(pair: Pair, file: string): void {
  const expectNone = async (finding: Finding | undefined, replays?: number) => {
    if (finding) expect.fail(told(finding, await shorten(pair, finding, replays), file));
  };

  if (MILLRACE_DIFF_SEED !== undefined) {
    it(`bulk-action BA-15: both stores answer the sequence of seed ${MILLRACE_DIFF_SEED} alike`, async () => {
      await expectNone((await compareSeed(pair, Number(MILLRACE_DIFF_SEED))).finding);
    }, 600_000);
    return;
  }

  const tally = new Tally();
  let seeds: readonly number[] = [];
  beforeAll(async () => {
    seeds = await chooseSeeds();
  }, TIMEOUT_MS);
  for (let part = 0; part < PARTS; part++)
    it(
      `bulk-action BA-15: both stores give the same answers to part ${part + 1} of ${PARTS} of the sequences`,
      async () => {
        const own = seeds.filter((_, at) => at % PARTS === part);
        expect(own.length).toBeGreaterThan(0);
        await expectNone(await firstFinding(pair, own, { tally }));
      },
      TIMEOUT_MS,
    );

  for (const { name, world, commands } of CASES)
    it(
      `bulk-action BA-15: both stores give the same answers with ${name}`,
      async () => {
        // Hundreds of groups are made first: looking at them all each time would take most of the time.
        const isLook = ({ kind }: Command) => kind !== 'add';
        await expectNone(await replay(pair, { seed: 0, world }, commands, isLook), CASE_REPLAYS);
      },
      TIMEOUT_MS,
    );

  if (SEEDS >= SEEDS_FOR_ALL)
    it('bulk-action BA-15: the sequences have met every command, every answer and every refusal', () => {
      const missing = WANTED.filter((label) => tally.of(label) === 0);
      expect(missing, 'see chosen-seeds.ts').toEqual([]);
    });
}

/**
 * Runs the sequences of these seeds until two answers differ.
 * @param atOnce - one where a difference is near: those that have begun are run to their end.
 */
export async function firstFinding(
  pair: Pair,
  seeds: readonly number[],
  { tally, atOnce = AT_ONCE }: { readonly tally?: Tally; readonly atOnce?: number } = {},
): Promise<Finding | undefined> {
  const left = seeds.values();
  let found: Finding | undefined;
  const work = async () => {
    for (const seed of left) {
      const { finding } = await compareSeed(pair, seed, tally ? { tally } : {});
      found ??= finding;
      if (found) return;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return found;
}
