import { type Clock, numberOption, systemClock } from '@millrace/foundation';
import type { BackpressureService } from '../backpressure-service.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import { Bell } from '../pool/bell.js';
import type { Admission, BulkStore } from '../ports.js';
import type { Job } from '../processor.js';
import { optionInvalid } from '../refusals.js';
import { checkId } from '../rules/ids.js';
import type { HeldJobs } from './held-jobs.js';

/** What a ReadyQueueService takes from outside. */
export interface ReadyQueueServiceDependencies {
  readonly store: Pick<BulkStore, 'views' | 'wakeUps'>;
  readonly config: Pick<ResolvedBulkActionConfig, 'workerPool'>;
  readonly backpressure: Pick<BackpressureService, 'admit'>;
  readonly held: HeldJobs;
  readonly clock?: Clock | undefined;
}

/** Names one job. */
export interface JobRef {
  /** Plain, or `tenant/id`. */
  readonly groupId: string;
  readonly jobId: string;
}

const timeout = numberOption({ min: 0, max: 86_400 });

/** The queue of jobs that may start. Nothing enters it but through the gate. */
export class ReadyQueueService {
  readonly #dependencies: ReadyQueueServiceDependencies;
  readonly #clock: Clock;

  /** @param dependencies - see ReadyQueueServiceDependencies. */
  constructor(dependencies: ReadyQueueServiceDependencies) {
    this.#dependencies = dependencies;
    this.#clock = dependencies.clock ?? systemClock;
  }

  /**
   * Brings one waiting job through the gate; see `BackpressureService.admit`.
   * @param job - its group and id.
   * @returns where it is now, and why.
   * @throws MillraceError `JOB_NOT_FOUND`, `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  push(job: JobRef): Promise<Admission> {
    return this.#dependencies.backpressure.admit(job);
  }

  /**
   * The same for many, one after the other, so that they keep their order. A job that is refused stops none behind it.
   * @param jobs - their groups and ids.
   * @returns the answers in the same order.
   * @throws MillraceError `JOB_NOT_FOUND`, `ID_INVALID`, `BACKEND_UNAVAILABLE`; those before it are through.
   */
  async pushAll(jobs: Iterable<JobRef>): Promise<Admission[]> {
    const admissions: Admission[] = [];
    for (const job of jobs) admissions.push(await this.push(job));
    return admissions;
  }

  /** How many jobs are ready, over all processes. */
  async size(): Promise<number> {
    return (await this.#dependencies.store.views.queues()).ready;
  }

  /** Whether it takes more now: it holds what its workers can drain soon, and no long line that undoes fairness. */
  async hasCapacity(): Promise<boolean> {
    const { ready, readyBound } = await this.#dependencies.store.views.queues();
    return ready < readyBound;
  }

  /**
   * Takes the first ready job into flight under a lease, in one step: a process that dies with it loses nothing. Settle it with
   * `InFlightQueueService.ack` within `reliableQueue.ackTimeoutMs`, or renew it.
   * @param timeoutSec - longest wait for one; 0 does not wait.
   * @param workerId - who takes it.
   * @returns undefined when none came in time, and at shutdown.
   * @throws MillraceError `ID_INVALID`, `OPTION_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async reliablePop(timeoutSec: number, workerId: string): Promise<Job | undefined> {
    checkId('workerId', workerId);
    if (!timeout.accepts(timeoutSec))
      throw optionInvalid('reliablePop', 'timeoutSec', timeout.expected, timeoutSec);
    const { store, held } = this.#dependencies;
    const bell = new Bell();
    const endListening = store.wakeUps.listen('work', () => bell.ring());
    try {
      return await this.#pop(workerId, this.#clock.monotonicMs() + timeoutSec * 1000, bell);
    } finally {
      endListening();
      // It came for somebody who no longer waits: what it stands for is somebody else's.
      if (bell.rung && !held.stopping.aborted) store.wakeUps.passOn('work');
    }
  }

  async #pop(workerId: string, endsAtMs: number, bell: Bell): Promise<Job | undefined> {
    const { config, held } = this.#dependencies;
    for (;;) {
      // A ring that came before the look is answered by it.
      bell.hush();
      const job = await held.take(workerId, 0);
      const leftMs = endsAtMs - this.#clock.monotonicMs();
      if (job || leftMs <= 0) return job;
      const longestMs = config.workerPool.workerTimeoutSec * 1000;
      const waking = await bell.wait(this.#clock, Math.min(leftMs, longestMs), held.stopping);
      if (waking === 'stopped') return undefined;
    }
  }
}
