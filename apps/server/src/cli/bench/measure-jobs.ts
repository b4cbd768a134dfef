import type { ResponseOf, ServerClient } from '@millrace/contract/server-client';
import { type Clock, sleep } from '@millrace/foundation';
import { allAtOnce } from './all-at-once.js';
import type { BenchSize, JobsMeasured, Progress } from './bench-model.js';

/** Of one request: well below what a server takes at once. */
const JOBS_PER_REQUEST = 1_000;
const LOOK_EVERY_MS = 100;
/** For the server to cancel the group of a measurement that was interrupted. */
const CANCEL_PATIENCE_MS = 5_000;

/** What a measurement works with. */
export interface Measuring {
  readonly client: ServerClient;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

/**
 * Measures how fast jobs that do nothing are accepted and done, in a group of their own. It is cancelled when that does not come to its end.
 * @param groupId - of the group, which must be new.
 * @throws ProblemError, what `fetch` throws, the reason of the signal.
 */
export async function measureJobs(
  measuring: Measuring,
  size: BenchSize,
  groupId: string,
): Promise<JobsMeasured> {
  const { client, clock, signal, progress } = measuring;
  const count = size.jobs;
  try {
    await client.call('submitGroup', { body: { group: { id: groupId }, jobs: [], seal: false } }, { signal });
    const begin = clock.monotonicMs();
    await allAtOnce(Math.ceil(count / JOBS_PER_REQUEST), size.clients, async (part) => {
      const jobs = jobsOf(part * JOBS_PER_REQUEST, Math.min(count, (part + 1) * JOBS_PER_REQUEST));
      await client.call('addJobs', { params: { groupId }, body: { jobs } }, { signal });
    });
    const acceptedMs = clock.monotonicMs() - begin;
    await client.call('sealGroup', { params: { groupId }, body: { total: count } }, { signal });
    const group = await ended(measuring, groupId, progress);
    const doneMs = Date.parse(group.endedAt ?? '') - Date.parse(group.createdAt);
    return {
      count,
      acceptedMs,
      acceptedPerSecond: perSecond(count, acceptedMs),
      doneMs,
      donePerSecond: perSecond(group.progress.success, doneMs),
    };
  } catch (error) {
    await client
      .call('cancelGroup', { params: { groupId } }, { signal: AbortSignal.timeout(CANCEL_PATIENCE_MS) })
      // Why it has to be is what counts; a group that nobody seals fails by its timeout.
      .catch(() => {});
    throw error;
  }
}

/**
 * A rate.
 * @param ms - in how long.
 */
export const perSecond = (count: number, ms: number): number => count / (Math.max(1, ms) / 1000);

const jobsOf = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => ({
    id: `job-${from + n + 1}`,
    processorType: 'demo.work',
    payload: { ms: 0 },
  }));

async function ended(
  { client, clock, signal }: Measuring,
  groupId: string,
  progress: Progress,
): Promise<ResponseOf<'getGroup'>> {
  for (;;) {
    const group = await client.call('getGroup', { params: { groupId } }, { signal });
    progress(group.progress.done, group.progress.registered);
    if (group.endedAt !== null) return group;
    await sleep(clock, LOOK_EVERY_MS, signal);
    signal.throwIfAborted();
  }
}
