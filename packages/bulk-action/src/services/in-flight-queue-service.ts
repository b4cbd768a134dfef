import { ERRORS } from '../errors.js';
import { optionInvalid } from '../refusals.js';
import { checkId, parseGroupRef } from '../rules/ids.js';
import { GroupStatus } from '../states.js';
import type { HeldJob, HeldJobs } from './held-jobs.js';

/** The jobs that this process has taken by hand: with `ReadyQueueService.reliablePop`. The pool's own are its own. */
export class InFlightQueueService {
  readonly #held: HeldJobs;

  /** @param dependencies - the jobs held by hand. */
  constructor({ held }: { readonly held: HeldJobs }) {
    this.#held = held;
  }

  /**
   * Settles a job as a success.
   * @param jobId - its id.
   * @param workerId - who took it.
   * @param groupId - plain, or `tenant/id`; needed only where the worker holds jobs of this id of several groups.
   * @returns whether its group is completed now.
   * @throws MillraceError `LEASE_LOST` when the worker does not hold it, `ID_INVALID`, `OPTION_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async ack(jobId: string, workerId: string, groupId?: string): Promise<boolean> {
    const held = this.#find('ack', jobId, workerId, groupId);
    const { groupStatus } = await this.#held.report(held, { success: true, data: undefined });
    return groupStatus === GroupStatus.COMPLETED;
  }

  /**
   * Holds a job for another `reliableQueue.ackTimeoutMs`; see `ack` for the parameters.
   * @param jobId - its id.
   * @param workerId - who took it.
   * @param groupId - plain, or `tenant/id`.
   * @returns false when the lease is lost or the group has ended: stop working on it then.
   * @throws MillraceError what `ack` throws.
   */
  async renew(jobId: string, workerId: string, groupId?: string): Promise<boolean> {
    return this.#held.renew(this.#find('renew', jobId, workerId, groupId));
  }

  /** How many jobs this process holds. */
  size(): number {
    return this.#held.size;
  }

  /**
   * Gives back everything that this process has taken by hand, retry counts unchanged; at shutdown it happens by itself.
   * @returns how many.
   * @throws MillraceError `BACKEND_UNAVAILABLE`.
   */
  recoverAll(): Promise<number> {
    return this.#held.giveBackAll();
  }

  #find(owner: string, jobId: string, workerId: string, groupId: string | undefined): HeldJob {
    checkId('jobId', jobId);
    checkId('workerId', workerId);
    const key = groupId === undefined ? undefined : parseGroupRef(groupId).key;
    const all = this.#held
      .ofWorker(workerId, jobId)
      .filter(({ leased }) => leased.key === (key ?? leased.key));
    const [first, ...others] = all;
    if (!first) throw ERRORS.create('LEASE_LOST', { job: jobId });
    // Guessing would count a job as done that is not.
    if (others.length > 0)
      throw optionInvalid(owner, 'groupId', 'given: the worker holds this id of several groups', groupId);
    return first;
  }
}
