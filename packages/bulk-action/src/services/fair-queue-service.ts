import type { BulkActionService } from '../bulk-action-service.js';
import type { Job } from '../processor.js';
import { checkId, parseGroupRef } from '../rules/ids.js';
import { GroupStatus } from '../states.js';
import type { HeldJobs } from './held-jobs.js';

/** A job for `enqueue`. */
export interface EnqueuedJob {
  /** Plain, or `tenant/id`; made with the defaults when there is no such group. */
  readonly groupId: string;
  readonly jobId: string;
  readonly jobProcessorType: string;
  /** Anything JSON can carry. */
  readonly payload?: unknown;
}

/** What a FairQueueService takes from outside. */
export interface FairQueueServiceDependencies {
  readonly service: Pick<BulkActionService, 'submitJob'>;
  readonly held: HeldJobs;
}

/** The fair queue by hand, one job at a time; the worker pool does the same for many by itself. */
export class FairQueueService {
  readonly #service: FairQueueServiceDependencies['service'];
  readonly #held: HeldJobs;

  /** @param dependencies - see FairQueueServiceDependencies. */
  constructor({ service, held }: FairQueueServiceDependencies) {
    this.#service = service;
    this.#held = held;
  }

  /**
   * Registers one job at the end of its group's lane.
   * @param job - see EnqueuedJob.
   * @returns false when the group has a job of this id already: nothing has changed then.
   * @throws MillraceError what `BulkActionService.submitJob` throws.
   */
  async enqueue({ groupId, jobId, jobProcessorType, payload }: EnqueuedJob): Promise<boolean> {
    const job = { id: checkId('jobId', jobId), processorType: jobProcessorType, payload };
    return (await this.#service.submitJob(groupId, job)).added;
  }

  /**
   * Takes the job whose turn it is into this process' in-flight, under a lease of `reliableQueue.ackTimeoutMs`. What lies in
   * ready comes first: it has had its turn.
   * @returns undefined when none may start now.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  dequeue(): Promise<Job | undefined> {
    return this.#held.take('', 1);
  }

  /**
   * Settles a job that this process took as a success.
   * @param jobId - its id.
   * @param groupId - plain, or `tenant/id`.
   * @returns whether its group is completed now.
   * @throws MillraceError `LEASE_LOST` when this process does not hold it, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async ack(jobId: string, groupId: string): Promise<boolean> {
    const { key } = parseGroupRef(groupId);
    const held = this.#held.need(key, checkId('jobId', jobId));
    const { groupStatus } = await this.#held.report(held, { success: true, data: undefined });
    return groupStatus === GroupStatus.COMPLETED;
  }
}
