import { type Clock, type Logger, sleep, toWorkError } from '@millrace/foundation';
import type { GroupKey } from '../model.js';
import { jobFields } from '../rules/log-fields.js';
import { WorkerState } from '../states.js';
import { PAUSE_AFTER_ERROR_MS } from './environment.js';
import type { Intake, TakenJob } from './intake.js';
import { report } from './report.js';
import type { ReportedTry } from './reported-try.js';

/** What a Worker works with. */
export interface WorkerEnvironment {
  readonly intake: Pick<Intake, 'next'>;
  /** Runs a job; resolves when its result is on its way to the store, with undefined when there is none. */
  work(taken: TakenJob): Promise<ReportedTry | undefined>;
  /** See Leases. */
  readonly partOf?: ((key: GroupKey) => number) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The second role: takes a job, runs it, takes the next. No error ends it. States: see WorkerState.
 *
 * It does not wait for the store to take a result: the settlement and the request for the next job go out together,
 * and the store works while this process does. It waits for the result before that one, so a store that is slow or
 * down meets two unstored results per worker at most; and where a store has parts, it waits for none of another part.
 */
export class Worker {
  readonly id: string;
  readonly #environment: WorkerEnvironment;
  readonly #stopping = new AbortController();
  #state: WorkerState = WorkerState.IDLE;
  #running: TakenJob | undefined;
  /** The last result for each part of the store, and for all. */
  readonly #reportedTo = new Map<number, ReportedTry>();
  #reported: ReportedTry | undefined;
  #ended: Promise<void> | undefined;

  /**
   * @param id - unique in its pool.
   * @param environment - see WorkerEnvironment.
   */
  constructor(id: string, environment: WorkerEnvironment) {
    this.id = id;
    this.#environment = environment;
  }

  /** Where it is now. */
  get state(): WorkerState {
    return this.#state;
  }

  /** The id of the job it runs, or whose result the store has not taken yet; or null. */
  get currentJob(): string | null {
    if (this.#running) return this.#running.job.jobId;
    return this.#reported && !this.#reported.stored ? this.#reported.settlement.jobId : null;
  }

  /** Begins to take jobs; once, and not after `stop`. */
  start(): void {
    if (this.#state !== WorkerState.IDLE) return;
    this.#state = WorkerState.RUNNING;
    this.#ended = this.#run();
  }

  /** Takes no more jobs: STOPPING at once, STOPPED when its job has ended and is stored; resolves then. */
  async stop(): Promise<void> {
    if (this.#state === WorkerState.IDLE) this.#state = WorkerState.STOPPED;
    if (this.#state === WorkerState.RUNNING) this.#state = WorkerState.STOPPING;
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { intake, clock, log, partOf } = this.#environment;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#running = await intake.next(signal);
        if (!this.#running) break;
        const part = partOf?.(this.#running.job.key) ?? 0;
        const before = this.#reportedTo.get(part);
        this.#reported = await this.#environment.work(this.#running);
        if (this.#reported) this.#reportedTo.set(part, this.#reported);
        if (before && !before.stored) await before.whenStored();
      } catch (error) {
        const fields = { worker: this.id, ...(this.#running && jobFields(this.#running.job)), err: error };
        report(log, 'error', fields, `Worker failed and goes on: ${toWorkError(error).message}`);
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      } finally {
        this.#running = undefined;
      }
    }
    await Promise.all([...this.#reportedTo.values()].map((reported) => reported.whenStored()));
    this.#state = WorkerState.STOPPED;
  }
}
