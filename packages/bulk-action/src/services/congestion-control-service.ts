import { RateLimitedError } from '@millrace/foundation';
import type { SettleAnswer } from '../lease.js';
import { failureOf } from '../pool/read-answer.js';
import type { BulkStore } from '../ports.js';
import { changeOrEnd, type GroupChange } from '../refusals.js';
import { checkId, parseGroupRef } from '../rules/ids.js';
import type { HeldJobs } from './held-jobs.js';
import type { JobRef } from './ready-queue-service.js';

/** A job that the called service refused. */
export interface ThrottledJob extends JobRef {
  /** How long the service asked to wait; without it the engine's own back-off counts. */
  readonly retryAfterMs?: number | undefined;
}

/** What a CongestionControlService takes from outside. */
export interface CongestionControlServiceDependencies {
  readonly store: Pick<BulkStore, 'groups'>;
  readonly held: HeldJobs;
}

/** Tells congestion control by hand what a called service said; processors do it by throwing `RateLimitedError`. */
export class CongestionControlService {
  readonly #store: CongestionControlServiceDependencies['store'];
  readonly #held: HeldJobs;

  /** @param dependencies - see CongestionControlServiceDependencies. */
  constructor({ store, held }: CongestionControlServiceDependencies) {
    this.#store = store;
    this.#held = held;
  }

  /**
   * Says that the called service refused a job that this process has taken: the job waits in non-ready as long as its group is to
   * wait, spends no retry, and the service or the group is slowed.
   * @param job - which, and what the service asked for.
   * @returns what the job and its group are now.
   * @throws MillraceError `LEASE_LOST` when this process does not hold it, `ID_INVALID`, `OPTION_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async addToNonReady({ groupId, jobId, retryAfterMs }: ThrottledJob): Promise<SettleAnswer> {
    const { key } = parseGroupRef(groupId);
    const held = this.#held.need(key, checkId('jobId', jobId));
    const error = failureOf(new RateLimitedError({ retryAfterMs }));
    return this.#held.report(held, { success: false, error });
  }

  /**
   * Forgets what was learnt of a group: how far a called service slows it alone, its freeze, its last back-off and its throttles. Jobs
   * that wait keep their due times. A group that has ended has none of it any more.
   * @param groupId - plain, or `tenant/id`.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async resetGroupStats(groupId: string): Promise<GroupChange> {
    const { key } = parseGroupRef(groupId);
    return changeOrEnd(key, await this.#store.groups.forgetSlowness(key));
  }
}
