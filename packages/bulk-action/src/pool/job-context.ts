import type { Logger } from '@millrace/foundation';
import type { LeasedJob } from '../lease.js';
import type { Job, JobContext } from '../processor.js';
import { groupIdOf } from '../rules/ids.js';
import type { JobSignal } from './job-signal.js';

/** What the context of a try is made from. */
export interface JobContextParts {
  readonly job: LeasedJob;
  readonly signal: JobSignal;
  readonly log: Logger;
  heartbeat(): Promise<boolean>;
}

/**
 * The job as its processor sees it.
 * @param job - as the store leased it.
 * @param payload - already parsed.
 */
export const jobOf = (job: LeasedJob, payload: unknown): Job => ({
  id: job.jobId,
  groupId: groupIdOf(job.key),
  tenant: job.tenant,
  tenantId: job.tenantId,
  processorType: job.processorType,
  payload,
  cost: job.cost,
  retryCount: job.retryCount,
  createdAt: new Date(job.createdAt),
  ...(job.deadline !== undefined && { deadline: new Date(job.deadline) }),
  traceparent: job.traceparent,
});

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
  readonly #parts: JobContextParts;
  #log: Logger | undefined;

  /** @param parts - see JobContextParts. */
  constructor(parts: JobContextParts) {
    const { job } = parts;
    this.#parts = parts;
    this.attempt = job.attempt;
    this.idempotencyKey = idempotencyKeyOf(job);
    // Bound: handlers take it out of their context.
    this.heartbeat = () => parts.heartbeat();
    if (job.deadline !== undefined) this.deadline = new Date(job.deadline);
    Object.defineProperty(this, 'signal', TryContext.#SIGNAL);
    Object.defineProperty(this, 'log', TryContext.#LOG);
  }

  static readonly #SIGNAL: PropertyDescriptor & ThisType<TryContext> = {
    enumerable: true,
    get() {
      return this.#parts.signal.signal;
    },
  };
  static readonly #LOG: PropertyDescriptor & ThisType<TryContext> = {
    enumerable: true,
    get() {
      const { job, log } = this.#parts;
      this.#log ??= log.child({ group: groupIdOf(job.key), job: job.jobId, attempt: job.attempt });
      return this.#log;
    },
  };
}
