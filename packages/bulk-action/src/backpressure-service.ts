import { integerOption } from '@millrace/foundation';
import { ERRORS } from './errors.js';
import type { ResolvedBulkActionConfig } from './options.js';
import type { Admission, BulkStore } from './ports.js';
import { groupNotFound, jobNotFound, optionInvalid } from './refusals.js';
import { checkId, parseGroupRef } from './rules/ids.js';
import type { HeldJobs } from './services/held-jobs.js';
import { BackpressureDestination, JobPlace, JobStatus } from './states.js';

/** What a BackpressureService takes from outside. */
export interface BackpressureServiceDependencies {
  readonly store: Pick<BulkStore, 'gate' | 'views'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'limits'>;
  /** The jobs of this process that `requeue` can give back (none). */
  readonly held?: Pick<HeldJobs, 'find' | 'giveBack'> | undefined;
}

/** Where a job goes that is given back. */
const DESTINATIONS = { ready: BackpressureDestination.READY, lane: BackpressureDestination.REJECTED };

/** The gate into ready, for one job at a time. Fetcher and Dispatcher go through the same gate by themselves. */
export class BackpressureService {
  readonly #store: BackpressureServiceDependencies['store'];
  readonly #config: BackpressureServiceDependencies['config'];
  readonly #held: BackpressureServiceDependencies['held'];

  /** @param dependencies - store and configuration; the jobs held by hand. */
  constructor({ store, config, held }: BackpressureServiceDependencies) {
    this.#store = store;
    this.#config = config;
    this.#held = held;
  }

  /**
   * Brings one waiting job through the gate, if turn, pause, caps, limits and deadline allow.
   * @param job - its group (plain, or `tenant/id`) and id.
   * @returns where the job is now and why; REJECTED is at the head of its group's lane, never lost.
   * @throws MillraceError `JOB_NOT_FOUND`, `ID_INVALID`.
   */
  async admit({ groupId, jobId }: { readonly groupId: string; readonly jobId: string }): Promise<Admission> {
    const { key } = parseGroupRef(groupId);
    const admission = await this.#store.gate.admit(key, checkId('jobId', jobId));
    if (!admission) throw jobNotFound(key, jobId);
    return admission;
  }

  /**
   * Gives a job back that this process has taken by hand: through the gate into ready, else to the head of its group's lane.
   * Its retry count stays. A job that waits already stays where it is.
   * @param jobId - its id.
   * @param groupId - plain, or `tenant/id`.
   * @returns where it is now; undefined when it has ended, or its group has.
   * @throws MillraceError `JOB_NOT_FOUND`, `LEASE_LOST` while somebody else runs it, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async requeue(jobId: string, groupId: string): Promise<BackpressureDestination | undefined> {
    const { key } = parseGroupRef(groupId);
    const held = this.#held?.find(key, checkId('jobId', jobId));
    if (held && this.#held) {
      const to = await this.#held.giveBack(held);
      return to === 'cancelled' ? undefined : DESTINATIONS[to];
    }
    const job = await this.#store.views.job(key, jobId);
    if (!job) throw jobNotFound(key, jobId);
    if (job.status === JobStatus.PROCESSING) throw ERRORS.create('LEASE_LOST', { job: jobId });
    if (job.status !== JobStatus.PENDING) return undefined;
    if (job.place === JobPlace.READY) return BackpressureDestination.READY;
    return job.place === JobPlace.NON_READY
      ? BackpressureDestination.NON_READY
      : BackpressureDestination.REJECTED;
  }

  /**
   * Whether a job of the group would find its rate tokens now; spends none.
   * @param groupId - plain, or `tenant/id`.
   * @param cost - of the job (1).
   * @returns and in how many milliseconds it will, 0 when it does now.
   * @throws MillraceError `GROUP_NOT_FOUND`, `ID_INVALID`, `OPTION_INVALID`.
   */
  async checkRate(
    groupId: string,
    cost = 1,
  ): Promise<{ readonly allowed: boolean; readonly nextInMs: number }> {
    const { key } = parseGroupRef(groupId);
    const rule = integerOption({ min: 1, max: this.#config.limits.costMax });
    if (!rule.accepts(cost)) throw optionInvalid('checkRate', 'cost', rule.expected, cost);
    const answer = await this.#store.gate.checkRate(key, cost);
    if (!answer) throw groupNotFound(key);
    return answer;
  }
}
