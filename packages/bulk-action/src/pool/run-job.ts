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
import { jobFields } from '../rules/log-fields.js';
import type { ThreadRunner } from '../thread-runner.js';
import type { TakenJob } from './intake.js';
import { type ContextOwner, idempotencyKeyOf, jobOf, TryContext } from './job-context.js';
import { JobSignal } from './job-signal.js';
import type { HeldLease } from './lease-keeper.js';
import type { Linked } from './line.js';
import { failureOf, readAnswer, type Verdict } from './read-answer.js';
import { report } from './report.js';
import type { TimeLimit, TimeLimited, TimeLimits } from './time-limits.js';

/** What every try needs. */
export interface RunEnvironment {
  readonly processors: ProcessorRegistry;
  readonly threads: ThreadRunner | undefined;
  readonly config: ResolvedBulkActionConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeLimits: TimeLimits;
  /** Handlers that run on though nobody waits for them any more. */
  readonly abandoned: { count: number };
  /** Renews a lease now; false when it is lost. */
  renew(run: JobRun): Promise<boolean>;
}

/** A try that has ended. */
export interface EndedTry {
  readonly verdict: Verdict;
  readonly durationMs: number;
  readonly timedOut: boolean;
  /** What ran it; undefined when there was none here. */
  readonly processor: JobProcessor | undefined;
}

/** Told what came of a try; undefined when it was released first. */
type OnEnd = (ended: EndedTry | undefined) => void;

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
 *
 * It is its own lease, context owner and entry of the time limits, and calls back instead of promising: there is one
 * for every job, and objects, closures and promises of their own were half of a short job's time.
 */
export class JobRun implements HeldLease, Linked<JobRun>, ContextOwner, TimeLimited {
  readonly job: LeasedJob;
  /** See HeldLease. */
  renewedAtMs: number;
  /** See HeldLease. */
  lost = false;
  /** See Linked: its place among those that are held. */
  before: JobRun | undefined = undefined;
  after: JobRun | undefined = undefined;
  readonly #environment: RunEnvironment;
  readonly #signal = new JobSignal();
  #log: Logger | undefined;
  #timeLimit: TimeLimit | undefined;
  #cancelTimer: CancelTimer | undefined;
  /** The time limit that was passed. */
  #limit: WorkError | undefined;
  #processor: JobProcessor | undefined;
  #startedAtMs = 0;
  #onEnd: OnEnd = toNobody;
  #ended = false;
  #handlerRuns = false;

  /**
   * @param taken - the job and the age of its lease.
   * @param environment - see RunEnvironment.
   */
  constructor({ job, leasedAtMs }: TakenJob, environment: RunEnvironment) {
    this.job = job;
    this.renewedAtMs = leasedAtMs;
    this.#environment = environment;
  }

  /** Whether it has a result, or was released. */
  get ended(): boolean {
    return this.#ended;
  }

  /** See ContextOwner. */
  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  /** See ContextOwner. */
  get log(): Logger {
    const { attempt } = this.job;
    this.#log ??= this.#environment.log.child({ ...jobFields(this.job), attempt });
    return this.#log;
  }

  /** See ContextOwner. */
  heartbeat(): Promise<boolean> {
    return this.#ended ? Promise.resolve(false) : this.#environment.renew(this);
  }

  /**
   * Runs the try, once.
   * @param onEnd - told what came of it, once; at once when nothing has to be waited for.
   */
  run(onEnd: OnEnd): void {
    this.#onEnd = onEnd;
    this.#startedAtMs = this.#environment.clock.monotonicMs();
    const processor = this.#findProcessor();
    this.#processor = processor;
    if (!processor) {
      this.#finish(failed(ERRORS.create('PROCESSOR_NOT_FOUND', { type: this.job.processorType })));
      return;
    }
    let job: Job;
    try {
      job = jobOf(this.job, JSON.parse(this.job.payload));
    } catch (error) {
      const details = { job: this.job.jobId, reason: toWorkError(error).message };
      this.#finish(failed(ERRORS.create('PAYLOAD_INVALID', details)));
      return;
    }
    if (this.#startTimer(processor)) this.#handle(processor, job);
    else this.#finish(failed(this.#limit));
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

  /** See TimeLimited. */
  timeOver(): void {
    const timeoutMs = this.#processor?.timeoutMs ?? this.#environment.config.workerPool.jobTimeoutMs;
    this.#passLimit(ERRORS.create('JOB_TIMEOUT', { job: this.job.jobId, timeoutMs }));
  }

  /** A processor for threads where there are none is no processor: another instance may have them. */
  #findProcessor(): JobProcessor | undefined {
    const { processors, threads } = this.#environment;
    const processor = processors.get(this.job.processorType);
    return processor?.thread && !threads ? undefined : processor;
  }

  /** What is no object needs no waiting: three promises less for a handler that is not async. */
  #handle(processor: JobProcessor, job: Job): void {
    this.#handlerRuns = true;
    let verdict: Verdict;
    try {
      const answer = this.#call(processor, job);
      if (isObject(answer)) {
        Promise.resolve(answer).then(
          (value) => this.#handlerEnded(readAnswer(value)),
          (thrown: unknown) => this.#handlerEnded(failed(thrown)),
        );
        return;
      }
      verdict = readAnswer(answer);
    } catch (thrown) {
      verdict = failed(thrown);
    }
    this.#handlerEnded(verdict);
  }

  #call(processor: JobProcessor, job: Job): unknown {
    const { threads } = this.#environment;
    const { attempt } = this.job;
    if (processor.thread && threads) {
      const context = { attempt, idempotencyKey: idempotencyKeyOf(this.job), deadline: job.deadline };
      return this.#callThread(threads.submit(processor.thread, job, context));
    }
    return processor.process?.(job, new TryContext(this));
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
    const { clock, config, timeLimits } = this.#environment;
    const { deadline } = this.job;
    const timeoutMs = processor.timeoutMs ?? config.workerPool.jobTimeoutMs;
    const leftMs = deadline === undefined ? Infinity : deadline - clock.now();
    if (deadline === undefined || leftMs >= timeoutMs) {
      this.#timeLimit = timeLimits.begin(this, timeoutMs);
      return true;
    }
    const limit = FOUNDATION_ERRORS.create('DEADLINE_EXCEEDED', {
      deadline: new Date(deadline).toISOString(),
    });
    if (leftMs > 0) this.#cancelTimer = clock.setTimer(leftMs, () => this.#passLimit(limit));
    else this.#limit = limit;
    return leftMs > 0;
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
    report(log, 'debug', () => this.#fields(), 'An abandoned handler has ended; its result is ignored');
  }

  #finish(verdict: Verdict | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timeLimit?.end();
    this.#cancelTimer?.();
    const { clock, abandoned } = this.#environment;
    if (this.#handlerRuns) abandoned.count += 1;
    const durationMs = clock.monotonicMs() - this.#startedAtMs;
    const timedOut = this.#limit?.code === 'JOB_TIMEOUT';
    this.#onEnd(verdict && { verdict, durationMs, timedOut, processor: this.#processor });
  }

  #fields(): object {
    const { processorType, attempt } = this.job;
    return { ...jobFields(this.job), processorType, attempt };
  }
}

const toNobody: OnEnd = () => {};
const failed = (thrown: unknown): Verdict => ({ success: false, error: failureOf(thrown) });

const isObject = (value: unknown): boolean =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
