import type { Aggregator, JobResult } from '../../src/aggregator.js';
import type { Added } from './aggregation-check.js';
import { COMMON_TYPE, type ProcessorParts } from './processors.js';

/** The group whose results nobody can add up. */
const HOPELESS = 'g5';

/**
 * An aggregator that lists who succeeded; while there are faults it sometimes throws, and sometimes takes longer than its
 * lock lasts.
 * @param lockTtlMs - how long the lock lasts.
 */
export function scriptedAggregator(
  { process, chaos, tally }: ProcessorParts,
  lockTtlMs: number,
): Aggregator<string, Added> {
  return {
    type: COMMON_TYPE,
    map: ({ jobId, data }: JobResult) => {
      if (typeof data !== 'object') throw new Error(`not what ${jobId} gave: ${data}`);
      return jobId;
    },
    async reduce(results, { groupId }) {
      if (groupId === HOPELESS) throw new Error('cannot be added up');
      const ids: string[] = [];
      for await (const id of results) ids.push(id);
      if (chaos.on && chaos.coin()) {
        tally.count('slow reduce');
        await new Promise<void>((resolve) => process.clock.setTimer(lockTtlMs * 2, resolve));
        if (chaos.coin()) throw undefined;
      }
      return { ids: ids.sort() };
    },
  };
}
