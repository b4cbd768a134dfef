import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { wait } from '@millrace/async-utils';
import type { Aggregator } from '@millrace/bulk-action';
import { PROCESSOR_TYPE } from './settings.js';
import type { AtStep } from './steps.js';

/** What it makes of a group: how many results there are, and of how many jobs. */
export interface Counted {
  readonly results: number;
  readonly jobs: number;
}

/** Long enough that its lock has to be renewed. */
const REDUCE_MS = 200;
/** How often the lock is held for longer than a reduce takes: see REDUCE_MS. */
export const LOCK_TTL_MS = 450;
/** A group with this in its name is added up at the second try. */
export const FLAKY = 'flaky';

/**
 * Counts the results of groups; of a flaky group it throws at the first try, in whichever process.
 * @param marks - a folder where the first tries of flaky groups are remembered.
 */
export const countingAggregator = (at: AtStep, marks: string): Aggregator<string, Counted> => ({
  type: PROCESSOR_TYPE,
  map: ({ jobId }) => jobId,
  async reduce(ids, { groupId }) {
    at('before reduce');
    const jobs = new Set<string>();
    let results = 0;
    for await (const id of ids) {
      results += 1;
      jobs.add(id);
    }
    await wait(REDUCE_MS);
    const mark = join(marks, `reduced-${encodeURIComponent(groupId)}`);
    if (groupId.includes(FLAKY) && !existsSync(mark)) {
      writeFileSync(mark, '');
      throw new Error('the results cannot be added up yet');
    }
    at('after reduce');
    return { results, jobs: jobs.size };
  },
});
