import { durationOption, oneOfOption } from '@millrace/foundation';
import type { BulkStore } from '../ports.js';
import { optionInvalid } from '../refusals.js';
import { checkId, parseGroupRef } from '../rules/ids.js';
import { NonReadyReason } from '../states.js';
import type { HeldJobs } from './held-jobs.js';
import type { JobRef } from './ready-queue-service.js';

/** A job that is to wait. */
export interface PutOffJob extends JobRef {
  /** How long from now. */
  readonly delayMs: number;
  /** Why (`TRANSIENT_ERROR`). */
  readonly reason?: NonReadyReason | undefined;
}

/** What a NonReadyQueueService takes from outside. */
export interface NonReadyQueueServiceDependencies {
  readonly store: Pick<BulkStore, 'views'>;
  readonly held: HeldJobs;
}

const delay = durationOption();
const known = oneOfOption(...Object.values(NonReadyReason));

/** The queue of jobs that wait for their time. */
export class NonReadyQueueService {
  readonly #store: NonReadyQueueServiceDependencies['store'];
  readonly #held: HeldJobs;

  /** @param dependencies - see NonReadyQueueServiceDependencies. */
  constructor({ store, held }: NonReadyQueueServiceDependencies) {
    this.#store = store;
    this.#held = held;
  }

  /**
   * Puts a job off that this process has taken: its try ends without a result and without spending a retry. What waits in the
   * fair queue has its turn there and is not put off.
   * @param job - which, how long and why.
   * @throws MillraceError `LEASE_LOST` when this process does not hold it, `ID_INVALID`, `OPTION_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async add({ groupId, jobId, delayMs, reason = NonReadyReason.TRANSIENT_ERROR }: PutOffJob): Promise<void> {
    const { key } = parseGroupRef(groupId);
    const held = this.#held.need(key, checkId('jobId', jobId));
    if (!delay.accepts(delayMs)) throw optionInvalid('add', 'delayMs', delay.expected, delayMs);
    if (!known.accepts(reason)) throw optionInvalid('add', 'reason', known.expected, reason);
    const error = { code: reason, message: `Put off for ${delayMs} ms by hand` };
    await this.#held.settle(held, { kind: 'retry', error, reason, delayMs, spendsRetry: false });
  }

  /** How many jobs wait for their time, over all processes. */
  async size(): Promise<number> {
    return (await this.#store.views.queues()).nonReady;
  }
}
