import { onAbort } from '@millrace/async-utils';
import {
  type CancelTimer,
  type Clock,
  ERRORS as FOUNDATION_ERRORS,
  type Logger,
  type MillraceError,
  toWorkError,
  type WorkError,
} from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import type { LeasedJob } from '../lease.js';
import type { ResolvedBulkActionConfig } from '../options.js';
import type { Job, JobProcessor, ProcessorRegistry } from '../processor.js';
import { groupIdOf } from '../rules/ids.js';
import type { ThreadRunner } from '../thread-runner.js';
import { idempotencyKeyOf, jobOf, TryContext } from './job-context.js';
import { JobSignal } from './job-signal.js';
import { failureOf, readAnswer, type Verdict } from './read-answer.js';
import { report } from './report.js';

/** What every try needs. */
export interface RunEnvironment {
  readonly processors: ProcessorRegistry;
  readonly threads: ThreadRunner | undefined;
  readonly config: ResolvedBulkActionConfig;
  readonly clock: Clock;
  readonly log: Logger;
  /** Handlers that run on though nobody waits for them any more. */
  readonly abandoned: { count: number };
}

/** A try that has ended. */
export interface EndedTry {
  readonly verdict: Verdict;
  readonly durationMs: number;
  readonly timedOut: boolean;
  /** What ran it; undefined when there was none here. */
  readonly processor: JobProcessor | undefined;
}

/**
 * Runs one try of one job.
 *
 * ```
 *   RUNNING ──handler ended────────────────────────────────────▶ its result
 *      ├──timeout, deadline──▶ ABORTED ──handler ended─────────▶ JOB_TIMEOUT, DEADLINE_EXCEEDED
 *      │                          └─────abortGraceMs over──────▶ the same; the handler is abandoned
 *      └──release()────────────────────────────────────────────▶ nothing; the handler is abandoned
 * ```
 * A lost lease and a cancelled group only abort the signal: the result is reported all the same, the fence decides.
 */
export class JobRun {
  readonly job: LeasedJob;
  readonly #environment: RunEnvironment;
  readonly #heartbeat: () => Promise<boolean>;
  readonly #signal = new JobSignal();
  #cancelTimer: CancelTimer | undefined;
  /** The time limit that was passed. */
  #limit: WorkError | undefined;
  #end: (verdict: Verdict | undefined) => void = () => {};
  #ended = false;
  #handlerRuns = false;

  /**
   * @param job - the job.
   * @param environment - see RunEnvironment.
   * @param heartbeat - renews the job's lease.
   */
  constructor(job: LeasedJob, environment: RunEnvironment, heartbeat: () => Promise<boolean>) {
    this.job = job;
    this.#environment = environment;
    this.#heartbeat = heartbeat;
  }

  /**
   * Runs the try, once; never throws.
   * @returns what came of it; undefined when it was released first.
   */
  async run(): Promise<EndedTry | undefined> {
    const { clock } = this.#environment;
    const startedAtMs = clock.monotonicMs();
    const processor = this.#findProcessor();
    const verdict = processor
      ? await this.#execute(processor)
      : failed(ERRORS.create('PROCESSOR_NOT_FOUND', { type: this.job.processorType }));
    const durationMs = clock.monotonicMs() - startedAtMs;
    return verdict && { verdict, durationMs, timedOut: this.#limit?.code === 'JOB_TIMEOUT', processor };
  }

  /**
   * Asks the handler to stop, and goes on waiting for it.
   * @param reason - the reason of its signal.
   */
  abort(reason: MillraceError): void {
    this.#signal.abort(reason);
  }

  /**
   * Ends the try at once, without a result; what the handler returns later is ignored.
   * @param reason - the reason of its signal.
   */
  release(reason: MillraceError): void {
    this.#signal.abort(reason);
    this.#finish(undefined);
  }

  /** A processor for threads where there are none is no processor: another instance may have them. */
  #findProcessor(): JobProcessor | undefined {
    const { processors, threads } = this.#environment;
    const processor = processors.get(this.job.processorType);
    return processor?.thread && !threads ? undefined : processor;
  }

  #execute(processor: JobProcessor): Promise<Verdict | undefined> {
    let job: Job;
    try {
      job = jobOf(this.job, JSON.parse(this.job.payload));
    } catch (error) {
      const details = { job: this.job.jobId, reason: toWorkError(error).message };
      return Promise.resolve(failed(ERRORS.create('PAYLOAD_INVALID', details)));
    }
    return new Promise((resolve) => {
      this.#end = resolve;
      if (this.#ended) return resolve(undefined);
      if (!this.#startTimer(processor)) return this.#finish(failed(this.#limit));
      this.#handlerRuns = true;
      void this.#handle(processor, job).then((verdict) => this.#handlerEnded(verdict));
    });
  }

  async #handle(processor: JobProcessor, job: Job): Promise<Verdict> {
    try {
      return readAnswer(await this.#call(processor, job));
    } catch (thrown) {
      return failed(thrown);
    }
  }

  #call(processor: JobProcessor, job: Job): unknown {
    const { threads, log } = this.#environment;
    const signal = this.#signal;
    const { attempt } = this.job;
    if (processor.thread && threads) {
      const context = { attempt, idempotencyKey: idempotencyKeyOf(this.job), deadline: job.deadline };
      return this.#callThread(threads.submit(processor.thread, job, context));
    }
    const heartbeat = () => (this.#ended ? Promise.resolve(false) : this.#heartbeat());
    return processor.process?.(job, new TryContext({ job: this.job, signal, log, heartbeat }));
  }

  /** Nothing else ends a thread that computes: it does not look at a signal. */
  async #callThread(future: ReturnType<ThreadRunner['submit']>): Promise<unknown> {
    const offAbort = onAbort(this.#signal.signal, () => void future.cancel());
    try {
      return await future;
    } finally {
      offAbort();
    }
  }

  /** One timer for whichever limit comes first; false when that is now. */
  #startTimer(processor: JobProcessor): boolean {
    const { clock, config } = this.#environment;
    const { jobId, deadline } = this.job;
    const timeoutMs = processor.timeoutMs ?? config.workerPool.jobTimeoutMs;
    const leftMs = deadline === undefined ? Infinity : deadline - clock.now();
    const limit =
      deadline !== undefined && leftMs < timeoutMs
        ? FOUNDATION_ERRORS.create('DEADLINE_EXCEEDED', { deadline: new Date(deadline).toISOString() })
        : undefined;
    if (leftMs <= 0) {
      this.#limit = limit;
      return false;
    }
    this.#cancelTimer = clock.setTimer(Math.min(timeoutMs, leftMs), () =>
      this.#passLimit(limit ?? ERRORS.create('JOB_TIMEOUT', { job: jobId, timeoutMs })),
    );
    return true;
  }

  #passLimit(limit: MillraceError): void {
    const { clock, config, log } = this.#environment;
    this.#limit = limit;
    this.#cancelTimer = clock.setTimer(config.workerPool.abortGraceMs, () => {
      const message = 'A handler did not end when its signal aborted; it is abandoned';
      report(log, 'warn', { ...this.#fields(), code: limit.code }, message);
      this.#finish(failed(limit));
    });
    this.#signal.abort(limit);
  }

  #handlerEnded(verdict: Verdict): void {
    this.#handlerRuns = false;
    if (!this.#ended) {
      this.#finish(this.#limit ? failed(this.#limit) : verdict);
      return;
    }
    const { abandoned, log } = this.#environment;
    abandoned.count -= 1;
    report(log, 'debug', this.#fields(), 'An abandoned handler has ended; its result is ignored');
  }

  #finish(verdict: Verdict | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#cancelTimer?.();
    if (this.#handlerRuns) this.#environment.abandoned.count += 1;
    this.#end(verdict);
  }

  #fields(): object {
    const { key, jobId, processorType, attempt } = this.job;
    return { group: groupIdOf(key), job: jobId, processorType, attempt };
  }
}

const failed = (thrown: unknown): Verdict => ({ success: false, error: failureOf(thrown) });
