import { type Clock, type Logger, sleep, toWorkError } from '@millrace/foundation';
import { WorkerState } from '../states.js';
import { PAUSE_AFTER_ERROR_MS } from './environment.js';
import type { Intake, TakenJob } from './intake.js';
import { report } from './report.js';

/** What a Worker works with. */
export interface WorkerEnvironment {
  readonly intake: Pick<Intake, 'next'>;
  /** Brings a job to its end. */
  work(taken: TakenJob): Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The second role: takes a job, runs it, takes the next. No error ends it. States: see WorkerState. */
export class Worker {
  readonly id: string;
  readonly #environment: WorkerEnvironment;
  readonly #stopping = new AbortController();
  #state: WorkerState = WorkerState.IDLE;
  #current: TakenJob | undefined;
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

  /** The id of the job it runs, or null. */
  get currentJob(): string | null {
    return this.#current?.job.jobId ?? null;
  }

  /** Begins to take jobs; once, and not after `stop`. */
  start(): void {
    if (this.#state !== WorkerState.IDLE) return;
    this.#state = WorkerState.RUNNING;
    this.#ended = this.#run();
  }

  /** Takes no more jobs: STOPPING at once, STOPPED when its job has ended; resolves then. */
  async stop(): Promise<void> {
    if (this.#state === WorkerState.IDLE) this.#state = WorkerState.STOPPED;
    if (this.#state === WorkerState.RUNNING) this.#state = WorkerState.STOPPING;
    this.#stopping.abort();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { intake, clock, log } = this.#environment;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        this.#current = await intake.next(signal);
        if (!this.#current) break;
        await this.#environment.work(this.#current);
      } catch (error) {
        const fields = { worker: this.id, job: this.currentJob, err: error };
        report(log, 'error', fields, `Worker failed and goes on: ${toWorkError(error).message}`);
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      } finally {
        this.#current = undefined;
      }
    }
    this.#state = WorkerState.STOPPED;
  }
}
