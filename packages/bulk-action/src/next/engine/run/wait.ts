import type { NonReadyReason } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { refresh } from '../fair/order.js';
import { noteGate } from '../results/attempts.js';
import type { ChargeCorrection, Refund } from '../state/change.js';
import type { Job, Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** How a job waits again. */
interface Waiting {
  readonly orphans: number;
  readonly correction?: ChargeCorrection | undefined;
}

/** Puts a job that is in flight or due to the front of its group. */
export function requeueJob(
  state: EngineState,
  job: Job,
  waiting: Waiting & {
    readonly attempt: number;
    readonly refund?: Refund | undefined;
    /** True if it passes all others of its group. */
    readonly isFirst?: boolean;
  },
): void {
  const { group, position, retryCount, orphanCount } = job;
  const { attempt, orphans, correction, refund, isFirst = false } = waiting;
  group.head = undefined;
  state.delayed.remove(job);
  decide(state, {
    kind: 'requeued',
    group,
    position,
    attempt,
    retryCount,
    orphanCount: orphanCount + orphans,
    correction,
    refund,
    isFirst,
  });
  refresh(state, group);
}

/** Makes a job wait until it is due. */
export function delayJob(
  state: EngineState,
  job: Job,
  waiting: Waiting & {
    readonly reason: NonReadyReason;
    readonly delayMs: number;
    readonly retries: number;
    readonly backoffMs?: number | undefined;
    readonly throttledBy?: Resource | undefined;
  },
): void {
  const { group, position, attempt, retryCount, orphanCount } = job;
  const { reason, delayMs, retries, orphans, correction, throttledBy } = waiting;
  const { backoffMs = reason === 'API_THROTTLED' ? Math.ceil(delayMs) : undefined } = waiting;
  decide(state, {
    kind: 'delayed',
    group,
    position,
    attempt,
    retryCount: retryCount + retries,
    orphanCount: orphanCount + orphans,
    correction,
    reason,
    dueMs: state.nowMs + Math.ceil(delayMs),
    backoffMs,
    throttledBy,
  });
  noteGate(job, 'BACK_OFF', delayMs * 1000);
  state.delayed.put(job);
  refresh(state, group);
}

/** Brings due jobs to the front of their groups. */
export function requeueDue(state: EngineState): void {
  if (!state.isDispatching) return;
  for (let job = state.delayed.peek(); job && job.dueMs <= state.nowMs; job = state.delayed.peek())
    requeueJob(state, job, { attempt: job.attempt, orphans: 0 });
}
