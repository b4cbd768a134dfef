import type { Logger } from '@millrace/foundation';
import type { LeasedJob } from '../lease.js';
import type { Job, JobContext } from '../processor.js';
import { groupIdOf } from '../rules/ids.js';

/** The try that a context speaks for. */
export interface ContextOwner {
  readonly job: LeasedJob;
  /** Made when it is first asked for. */
  readonly signal: AbortSignal;
  /** Made when it is first asked for. */
  readonly log: Logger;
  /** Renews the lease now. */
  heartbeat(): Promise<boolean>;
}

/**
 * The job as its processor sees it.
 * @param job - as the store leased it.
 * @param payload - already parsed.
 */
export function jobOf(job: LeasedJob, payload: unknown): Job {
  const seen: Job = {
    id: job.jobId,
    groupId: groupIdOf(job.key),
    tenant: job.tenant,
    tenantId: job.tenantId,
    processorType: job.processorType,
    payload,
    cost: job.cost,
    retryCount: job.retryCount,
    createdAt: new Date(job.createdAt),
    traceparent: job.traceparent,
  };
  return job.deadline === undefined ? seen : { ...seen, deadline: new Date(job.deadline) };
}

/**
 * The same for every try of a job, different for every other job.
 * @param job - the job.
 */
export const idempotencyKeyOf = ({ key, jobId }: LeasedJob): string => `${key}:${jobId}`;

/**
 * Signal and logger are made when the handler asks for them. They are own properties all the same, since handlers
 * spread their context; shared descriptors are five times cheaper than getters in an object literal.
 */
export class TryContext implements JobContext {
  declare readonly signal: AbortSignal;
  declare readonly log: Logger;
  declare readonly deadline?: Date;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly heartbeat: () => Promise<boolean>;
  readonly #owner: ContextOwner;

  /** @param owner - the try. */
  constructor(owner: ContextOwner) {
    const { job } = owner;
    this.#owner = owner;
    this.attempt = job.attempt;
    this.idempotencyKey = idempotencyKeyOf(job);
    // Bound: handlers take it out of their context.
    this.heartbeat = () => owner.heartbeat();
    if (job.deadline !== undefined) this.deadline = new Date(job.deadline);
    Object.defineProperty(this, 'signal', TryContext.#SIGNAL);
    Object.defineProperty(this, 'log', TryContext.#LOG);
  }

  static readonly #SIGNAL: PropertyDescriptor & ThisType<TryContext> = {
    enumerable: true,
    get() {
      return this.#owner.signal;
    },
  };
  static readonly #LOG: PropertyDescriptor & ThisType<TryContext> = {
    enumerable: true,
    get() {
      return this.#owner.log;
    },
  };
}
