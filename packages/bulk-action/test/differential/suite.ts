import { expect, it } from 'vitest';
import { Tally } from '../simulation/chaos.js';
import { CASES } from './cases.js';
import type { Command } from './commands.js';
import { compareSeed, type Finding, type Pair, replay } from './compare.js';
import { told } from './report.js';
import { shorten } from './shorten.js';
import { WANTED } from './wanted.js';

/** One seed to replay; or where to begin and how many. */
const { MILLRACE_DIFF_SEED, MILLRACE_DIFF_FROM, MILLRACE_DIFF_SEEDS } = process.env;
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

/**
 * Registers the comparison of two stores: the same commands, the same answers.
 * @param pair - the stores.
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
  for (let part = 0; part < PARTS; part++) {
    const [first, last] = [FROM + part * PART, FROM + (part + 1) * PART - 1];
    it(
      `bulk-action BA-15: both stores give the same answers to the sequences of seeds ${first} to ${last}`,
      async () => expectNone(await firstFinding(pair, first, last, tally)),
      TIMEOUT_MS,
    );
  }

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
      expect(WANTED.filter((label) => tally.of(label) === 0)).toEqual([]);
    });
}

/** Runs the sequences of these seeds until two answers differ. */
export async function firstFinding(
  pair: Pair,
  first: number,
  last: number,
  tally?: Tally,
): Promise<Finding | undefined> {
  let next = first;
  let found: Finding | undefined;
  const work = async () => {
    while (next <= last && !found) {
      const { finding } = await compareSeed(pair, next++, tally ? { tally } : {});
      found ??= finding;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}
