import { beforeAll, describe, expect, it } from 'vitest';
import type { BulkActionConfig } from '../../src/options.js';
import { openMemory } from '../memory/open-memory.js';
import type { Pair } from './compare.js';
import { ALIKE, type Mutant, UNREAD_SETTINGS, WRONG_ANSWERS, withParts } from './mutants.js';
import { told } from './report.js';
import { shorten } from './shorten.js';
import { chooseSeeds, firstFinding } from './suite.js';

/** The memory store against one that is wrong in one point. */
const against = ({ mutate, configure }: Mutant): Pair => ({
  first: async (config) => openMemory(config),
  second: async (config: BulkActionConfig = {}) => {
    const harness = openMemory(configure?.(config) ?? config);
    return { ...harness, store: withParts(harness.store, mutate?.(harness.store) ?? {}) };
  },
});

describe('bulk-action BA-15: the comparison of stores', { timeout: 180_000 }, () => {
  /** Those that a server is given: what they would not notice there, nobody would. */
  let seeds: readonly number[] = [];
  beforeAll(async () => {
    seeds = await chooseSeeds();
  }, 180_000);

  for (const mutant of [...UNREAD_SETTINGS, ...WRONG_ANSWERS])
    it(`bulk-action BA-15: notices when ${mutant.name}`, async () => {
      expect(await firstFinding(against(mutant), seeds, { atOnce: 1 })).toBeDefined();
    });

  it('bulk-action BA-15: does not mind when tokens and cursors look different', async () => {
    expect(await firstFinding(against(ALIKE), seeds)).toBeUndefined();
  });

  it('bulk-action BA-15: tells the few commands that show a difference, and how to see it again', async () => {
    const mutant = WRONG_ANSWERS.find(({ name }) => name === 'a wrong total is sealed') as Mutant;
    const pair = against(mutant);
    const finding = await firstFinding(pair, seeds);
    if (!finding) throw new Error('expected a difference');
    const shortest = await shorten(pair, finding);
    expect(shortest.commands.length).toBe(2);
    expect(shortest.asked.kind).toBe('seal');
    const text = told(finding, shortest, 'the.test.ts');
    expect(text).toContain(`MILLRACE_DIFF_SEED=${finding.seed} npx vitest run the.test.ts`);
    expect(text).toContain('"kind":"mismatch"');
  });
});
