import { ERRORS as BULK_ERRORS, type BulkActionService, type JobInput } from '@millrace/bulk-action';
import { ERRORS as COMMON_ERRORS, toWorkError } from '@millrace/foundation';
import { ERRORS } from '../../errors.js';
import { optionFault } from '../../http/request-errors.js';

/**
 * Jobs that are handed over in one step, and their bytes. A million lines of 100 bytes into Redis, measured: with 1,000 the process
 * grew to 320 MB, because what waits that long outlives the young generation of V8; with 250 to 223 MB, at the same speed.
 */
const BATCH_JOBS_MAX = 250;
const BATCH_BYTES_MAX = 262_144;

/** Where the jobs of a body go. */
export interface IntakeOptions {
  readonly service: Pick<BulkActionService, 'addJobs'>;
  /** `tenant/id`, or plain. */
  readonly groupId: string;
  /** Names the request: ids of jobs without one are made from it. */
  readonly requestId: string | undefined;
  /** The most jobs of one body: `limits.jobsPerUpload`. */
  readonly jobsMax: number;
}

/** The jobs of one batch, and the line of each. */
interface Batch {
  readonly jobs: JobInput[];
  readonly lines: number[];
  bytes: number;
}

/**
 * Takes jobs one by one and stores them in batches: while one is being stored, the next is collected, and no more. A job that the
 * engine refuses is found, and all before it are stored.
 */
export class JobIntake {
  readonly #options: IntakeOptions;
  #batch: Batch = { jobs: [], lines: [], bytes: 0 };
  #storing: Promise<void> = Promise.resolve();
  #taken = 0;
  #stored = 0;
  #sum = { added: 0, known: 0, registered: 0 };

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /** Where they go. */
  get groupId(): string {
    return this.#options.groupId;
  }

  /** Jobs that were taken. */
  get taken(): number {
    return this.#taken;
  }

  /** Jobs that are stored: the first of those that were taken. */
  get stored(): number {
    return this.#stored;
  }

  /** What became of the jobs stored. */
  get sum(): { readonly added: number; readonly known: number; readonly registered: number } {
    return this.#sum;
  }

  /**
   * Asks whether the group takes jobs of this request at all; makes it, when there is none.
   * @throws MillraceError `ID_INVALID`, `BACKEND_UNAVAILABLE`.
   */
  async open(): Promise<void> {
    const { service, groupId, requestId } = this.#options;
    this.#sum = await service.addJobs(groupId, [], { requestId });
  }

  /**
   * Takes a job. Awaited where there is something to wait for: a full batch waits for the one before it.
   * @param line - of the body, from 1.
   * @throws MillraceError `JOBS_TOO_MANY`.
   */
  take(job: JobInput, line: number, bytes: number): Promise<void> | undefined {
    if (this.#taken === this.#options.jobsMax) return this.#refuseMore();
    this.#taken += 1;
    this.#batch.jobs.push(job);
    this.#batch.lines.push(line);
    this.#batch.bytes += bytes;
    const isFull = this.#batch.jobs.length === BATCH_JOBS_MAX || this.#batch.bytes >= BATCH_BYTES_MAX;
    return isFull ? this.#handOver() : undefined;
  }

  /**
   * Waits until everything that was taken is stored.
   * @throws MillraceError `LINE_INVALID` for the first job that the engine refuses; `QUEUE_FULL`, `GROUP_SEALED`,
   *   `BACKEND_UNAVAILABLE`.
   */
  async drain(): Promise<void> {
    await this.#handOver();
    await this.#storing;
  }

  async #refuseMore(): Promise<never> {
    await this.drain();
    throw ERRORS.create('JOBS_TOO_MANY', { max: this.#options.jobsMax, limit: 'limits.jobsPerUpload' });
  }

  async #handOver(): Promise<void> {
    await this.#storing;
    const { jobs, lines } = this.#batch;
    if (jobs.length === 0) return;
    this.#batch = { jobs: [], lines: [], bytes: 0 };
    this.#storing = this.#store(jobs, lines);
    // Told of when it is waited for, at the next batch or the end.
    this.#storing.catch(() => {});
  }

  /** The engine checks all jobs of a call before it stores any: halves find the one it refuses, and what is before it. */
  async #store(jobs: readonly JobInput[], lines: readonly number[]): Promise<void> {
    const { service, groupId, requestId } = this.#options;
    try {
      const answer = await service.addJobs(groupId, jobs, { requestId, firstPosition: this.#stored });
      const { added, known } = this.#sum;
      this.#sum = { added: added + answer.added, known: known + answer.known, registered: answer.registered };
      this.#stored += jobs.length;
    } catch (error) {
      const reason = rejectionReason(error);
      if (reason === undefined) throw error;
      if (jobs.length === 1)
        throw ERRORS.create(
          'LINE_INVALID',
          { line: lines[0], reason, stored: this.#stored },
          { cause: error },
        );
      const half = jobs.length >> 1;
      await this.#store(jobs.slice(0, half), lines.slice(0, half));
      await this.#store(jobs.slice(half), lines.slice(half));
    }
  }
}

/** Parts that refer to a job by its index. Users know the job by its line. */
const OF_THE_JOB = /^jobs\.\d+\.?/;
const HINT = /; did you mean '(?:jobs\[\d+\]\.)?(.+)'\?$/;

/** Returns why the engine rejected a job or a group. `undefined` if the error has another cause. */
export function rejectionReason(error: unknown): string | undefined {
  const fault = optionFault(error);
  if (fault)
    return `${fault.field.replace(OF_THE_JOB, '') || 'it'} ${fault.message.replace(HINT, " (did you mean '$1'?)")}`;
  const isRefusal =
    COMMON_ERRORS.is(error, 'ID_INVALID') ||
    BULK_ERRORS.is(error, 'PAYLOAD_INVALID') ||
    BULK_ERRORS.is(error, 'PAYLOAD_TOO_LARGE');
  return isRefusal ? toWorkError(error).message : undefined;
}
