import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WANTED } from './commands.js';
import { compareStores } from './compare.js';
import { type DatabaseSide, memorySide, openDatabaseSide } from './sides.js';

/** One seed to look at again, or how many to try. */
const { MILLRACE_DIFF_SEED, MILLRACE_DIFF_SEEDS = '100' } = process.env;
const SEEDS = MILLRACE_DIFF_SEED
  ? [MILLRACE_DIFF_SEED]
  : Array.from({ length: Number(MILLRACE_DIFF_SEEDS) }, (_, n) => String(n + 1));

describe('memory against PostgreSQL', () => {
  let side: DatabaseSide;
  beforeAll(async () => {
    side = await openDatabaseSide();
  }, 60_000);
  afterAll(() => side.close());

  it(
    'orchestrator NFR-2: the same calls get the same answers, and every kind of answer occurs',
    async () => {
      const counts = new Map<string, number>();
      const count = (kind: string) => counts.set(kind, (counts.get(kind) ?? 0) + 1);
      for (const seed of SEEDS) {
        await side.empty();
        expect(await compareStores(seed, [memorySide(), side], count)).toBeUndefined();
      }
      if (SEEDS.length < 50) return;
      const never = WANTED.filter((kind) => !counts.has(kind));
      const occurred = [...counts].map(([kind, times]) => `${kind} ${times}`).sort();
      expect(never, `never reached; what occurred:\n${occurred.join('\n')}`).toEqual([]);
    },
    120_000 + SEEDS.length * 2_000,
  );
});
