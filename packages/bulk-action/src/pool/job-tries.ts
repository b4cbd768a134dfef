import { type MillraceError, type Rng, toWorkError } from '@millrace/foundation';
import type { AggregatorRegistry } from '../aggregator.js';
import type { LeasedJob, LeaseRef, Outcome, SettleAnswer } from '../lease.js';
import type { JobProcessorResponse, ProcessorRegistry } from '../processor.js';
import { recordDuration } from '../rules/histogram.js';
import { groupIdOf } from '../rules/ids.js';
import { groupFields, jobFields } from '../rules/log-fields.js';
import { hasEnded } from '../states.js';
import type { ThreadRunner } from '../thread-runner.js';
import type { GrowingHistograms, PoolCounters } from './counters.js';
import type { PoolEnvironment } from './environment.js';
import type { TakenJob } from './intake.js';
import type { LeaseKeeper } from './lease-keeper.js';
import { report } from './report.js';
import { ReportedTry } from './reported-try.js';
import { type EndedTry, JobRun, type RunEnvironment } from './run-job.js';
import type { Settler } from './settler.js';
import { TimeLimits } from './time-limits.js';
import { outcomeOf } from './try-outcome.js';

/** A try that has been reported: what metrics and tests look at. */
export interface SettledTry {
  readonly job: LeasedJob;
  readonly response: JobProcessorResponse;
  /** undefined when the pool gave up on the store. */
  readonly answer: SettleAnswer | undefined;
}

/** What tries work with. */
export interface TriesEnvironment extends PoolEnvironment {
  readonly processors: ProcessorRegistry;
  readonly aggregators: AggregatorRegistry;
  readonly threads: ThreadRunner | undefined;
  readonly counters: PoolCounters;
  readonly histograms: GrowingHistograms;
  readonly keeper: LeaseKeeper<JobRun>;
  readonly settler: Settler;
  /** Told of every try that was reported. */
  readonly onSettled: ((settled: SettledTry) => void) | undefined;
}

/** Brings taken jobs to their end: lease held, handler run, result reported, counted and logged. */
export class JobTries {
  readonly #environment: TriesEnvironment;
  readonly #runEnvironment: RunEnvironment;
  readonly #rng: Rng;
  readonly #timeLimits: TimeLimits;
  readonly #abandoned = { count: 0 };

  /** @param environment - see TriesEnvironment. */
  constructor(environment: TriesEnvironment) {
    const { processors, threads, config, clock, log, keeper } = environment;
    this.#environment = environment;
    this.#rng = environment.rng.fork('tries');
    this.#timeLimits = new TimeLimits(clock);
    this.#runEnvironment = {
      processors,
      threads,
      config,
      clock,
      log,
      timeLimits: this.#timeLimits,
      abandoned: this.#abandoned,
      renew: (run) => keeper.renew(run),
    };
  }

  /** Handlers that run on though nobody waits for them any more. */
  get abandoned(): number {
    return this.#abandoned.count;
  }

  /**
   * Runs one try and hands its result to the Settler.
   * @param taken - the job and the age of its lease.
   * @returns the try as soon as its result is on its way; undefined when it was released and has none.
   */
  work(taken: TakenJob): Promise<ReportedTry | undefined> {
    const { keeper, settler, histograms } = this.#environment;
    recordDuration(histograms.waits, taken.job.waitedMs);
    return new Promise((resolve, reject) => {
      const run = new JobRun(taken, this.#runEnvironment);
      keeper.hold(run);
      run.run((ended) => {
        try {
          const reported = ended && this.#reportOf(run, ended);
          if (reported) settler.settle(reported);
          else keeper.release(run);
          resolve(reported);
        } catch (error) {
          keeper.release(run);
          reject(error);
        }
      });
    });
  }

  /** Takes back the timers of the time limits; for when nothing runs any more. */
  stop(): void {
    this.#timeLimits.stop();
  }

  /**
   * Ends every try at once without a result.
   * @param reason - the reason of their signals.
   * @returns their leases, to be given back.
   */
  releaseAll(reason: MillraceError): LeaseRef[] {
    const runs = [...this.#environment.keeper.held].filter(({ ended }) => !ended);
    for (const run of runs) run.release(reason);
    return runs.map(({ job: { key, jobId, token } }) => ({ key, jobId, token }));
  }

  #reportOf(run: JobRun, ended: EndedTry): ReportedTry {
    const { key, jobId, token } = run.job;
    const outcome = this.#outcomeOf(run.job, ended);
    const settlement = { key, jobId, token, durationMs: ended.durationMs, outcome };
    return new ReportedTry(run, ended, settlement, this.#onAnswer);
  }

  /** One function for all tries: it is told which. */
  readonly #onAnswer = ({ run, ended, settlement }: ReportedTry, answer: SettleAnswer | undefined): void => {
    const { keeper, onSettled, log } = this.#environment;
    const { job } = run;
    keeper.release(run);
    if (answer) this.#count(job, ended, settlement.outcome, answer);
    if (!onSettled) return;
    try {
      onSettled({ job, response: responseOf(job, ended), answer });
    } catch (error) {
      const fields = { ...jobFields(job), err: error };
      report(log, 'error', fields, `onSettled failed: ${toWorkError(error).message}`);
    }
  };

  #outcomeOf(job: LeasedJob, { verdict, processor }: EndedTry): Outcome {
    return outcomeOf(job, verdict, processor?.retry, this.#environment, this.#random, this.#noteNotKept);
  }

  readonly #random = (): number => this.#rng.next();

  readonly #noteNotKept = (job: LeasedJob, message: string): void =>
    report(this.#environment.log, 'debug', () => fieldsOf(job), message);

  #count(job: LeasedJob, ended: EndedTry, outcome: Outcome, answer: SettleAnswer): void {
    const { counters, histograms, log } = this.#environment;
    const fields = () => ({ ...fieldsOf(job), durationMs: ended.durationMs });
    if (answer.status === 'stale' || answer.status === 'gone') {
      if (answer.status === 'stale') counters.lateAcks += 1;
      const why =
        answer.status === 'stale' ? 'another lease holds or settled the job' : 'there is no such job';
      report(log, 'warn', fields, `A result came too late and counts nothing: ${why}`);
      return;
    }
    if (answer.status === 'cancelled') {
      report(log, 'debug', fields, 'A result counts nothing: its group had ended');
      return;
    }
    recordDuration(histograms.durations, ended.durationMs);
    if (ended.timedOut) counters.timeouts += 1;
    this.#countAccepted(job, ended, outcome, fields);
    const { groupStatus } = answer;
    if (!groupStatus || !hasEnded(groupStatus)) return;
    const { key, traceparent } = job;
    report(
      log,
      'info',
      { ...groupFields(key, traceparent), status: groupStatus },
      `Group ended: ${groupStatus}`,
    );
  }

  #countAccepted(
    job: LeasedJob,
    { processor, verdict }: EndedTry,
    outcome: Outcome,
    fields: () => object,
  ): void {
    const { counters, config, log } = this.#environment;
    if (outcome.kind === 'success') {
      counters.success += 1;
      report(log, 'debug', fields, 'Job done');
      return;
    }
    const { code, message } = outcome.error;
    const failure = { ...fields(), code, err: verdict.success ? undefined : verdict.error.cause };
    if (outcome.kind === 'retry') {
      const { delayMs, reason, spendsRetry } = outcome;
      if (!spendsRetry) {
        report(log, 'debug', { ...failure, delayMs, reason }, `Job put off: ${message}`);
        return;
      }
      counters.retries += 1;
      const times = `${job.retryCount + 1}/${processor?.retry?.retries ?? config.workerPool.maxRetryCount}`;
      report(log, 'warn', { ...failure, delayMs, reason }, `Retry ${times} in ${delayMs} ms: ${message}`);
      return;
    }
    counters.failed += 1;
    if (outcome.dead) {
      counters.deadLetters += 1;
      const { signature } = outcome;
      report(
        log,
        'error',
        { ...failure, signature },
        `Dead letter after ${job.retryCount} retries: ${message}`,
      );
    } else report(log, 'debug', failure, `Job failed for good: ${message}`);
  }
}

const fieldsOf = (job: LeasedJob) => ({
  ...jobFields(job),
  processorType: job.processorType,
  attempt: job.attempt,
});

function responseOf(job: LeasedJob, { verdict, durationMs }: EndedTry): JobProcessorResponse {
  const { jobId, processorType } = job;
  const ids = { jobId, groupId: groupIdOf(job.key), processorType };
  if (verdict.success) {
    const { data } = verdict;
    return { ...ids, success: true, ...(data !== undefined && { data }), durationMs };
  }
  const { message, code, retryable, retryAfterMs } = verdict.error;
  const error = { message, code, retryable, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  return { ...ids, success: false, error, durationMs };
}
