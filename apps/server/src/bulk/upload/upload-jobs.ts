import type { Readable } from 'node:stream';
import type { BulkActionService } from '@millrace/bulk-action';
import type { GroupRequest } from '@millrace/contract';
import type { Clock } from '@millrace/foundation';
import { ERRORS } from '../../errors.js';
import { BodyCutOff, bodyChunks, discardRest } from './body-chunks.js';
import { JobIntake, rejectionReason } from './job-intake.js';
import { LineFault, LineSplitter } from './line-splitter.js';
import { groupOfValue, jobOfValue, valueOfLine } from './read-line.js';

/** What a line may have besides the payload of its job. */
const LINE_FRAME_BYTES = 16_384;

/** What reading a body of lines takes. */
export interface UploadEnvironment {
  readonly service: Pick<BulkActionService, 'addJobs'>;
  readonly clock: Clock;
  readonly limits: { readonly jobsPerUpload: number; readonly uploadStallMs: number };
  /** Of one payload: `limits.payloadBytesMax` of the engine. */
  readonly payloadBytesMax: number;
}

/** Where the jobs of a body go. */
export interface UploadTarget {
  /** The id of the group; or what makes the group that the first line defines, and answers with its id. */
  readonly group: string | ((group: GroupRequest) => Promise<string>);
  /** Names the request: ids of jobs without one are made from it. */
  readonly requestId: string | undefined;
}

/** What became of the jobs of a body. */
export interface Uploaded {
  readonly groupId: string;
  /** Lines that are jobs. */
  readonly jobs: number;
  readonly added: number;
  readonly known: number;
  readonly registered: number;
}

/**
 * Stores the jobs of a body while it comes: each of its lines is one, but for the first where that is the group.
 * @throws MillraceError `LINE_INVALID`, `UPLOAD_CUT_OFF`, `JOBS_TOO_MANY`, and what the engine refuses; the jobs before it are
 *   stored.
 */
export async function uploadJobs(
  body: Readable,
  target: UploadTarget,
  environment: UploadEnvironment,
): Promise<Uploaded> {
  try {
    return await new Upload(target, environment).read(body);
  } catch (error) {
    discardRest(body, environment.clock);
    throw error;
  }
}

/** One body that is being read. */
class Upload {
  readonly #target: UploadTarget;
  readonly #environment: UploadEnvironment;
  readonly #splitter: LineSplitter;
  #intake: JobIntake | undefined;
  /** Lines that were taken: a fault is in the one after them. */
  #lines = 0;

  constructor(target: UploadTarget, environment: UploadEnvironment) {
    this.#target = target;
    this.#environment = environment;
    this.#splitter = new LineSplitter(environment.payloadBytesMax + LINE_FRAME_BYTES);
  }

  async read(body: Readable): Promise<Uploaded> {
    const { clock, limits } = this.#environment;
    const { group } = this.#target;
    try {
      if (typeof group === 'string') await this.#open(group);
      for await (const chunk of bodyChunks(body, { stallMs: limits.uploadStallMs, clock })) {
        // Most lines need no waiting, and a million promises are not free.
        for (const line of this.#splitter.feed(chunk)) {
          const busy = this.#take(line);
          if (busy) await busy;
        }
      }
      const last = this.#splitter.end();
      if (last) await this.#take(last);
      return await this.#finish();
    } catch (error) {
      throw await this.#told(error);
    }
  }

  #take(line: Buffer): Promise<void> | undefined {
    const value = valueOfLine(line);
    if (value !== undefined && !this.#intake) return this.#begin(value);
    const job = value === undefined ? undefined : jobOfValue(value);
    this.#lines += 1;
    return job && this.#intake?.take(job, this.#lines, line.length);
  }

  async #begin(value: unknown): Promise<void> {
    const { group } = this.#target;
    if (typeof group === 'string') return;
    const definition = groupOfValue(value);
    try {
      await this.#open(await group(definition));
    } catch (error) {
      const reason = rejectionReason(error);
      throw reason === undefined ? error : new LineFault(reason, { cause: error });
    }
    this.#lines += 1;
  }

  async #open(groupId: string): Promise<void> {
    const { service, limits } = this.#environment;
    const { requestId } = this.#target;
    const intake = new JobIntake({ service, groupId, requestId, jobsMax: limits.jobsPerUpload });
    await intake.open();
    this.#intake = intake;
  }

  async #finish(): Promise<Uploaded> {
    const intake = this.#intake;
    if (!intake) throw new LineFault('the group is missing: it is the first line');
    await intake.drain();
    return { groupId: intake.groupId, jobs: intake.taken, ...intake.sum };
  }

  /** What the sender is told; what came before is stored first, and where that fails it is the news. */
  async #told(error: unknown): Promise<unknown> {
    if (!(error instanceof LineFault || error instanceof BodyCutOff)) return error;
    await this.#intake?.drain();
    const { message: reason } = error;
    const stored = this.#intake?.stored ?? 0;
    return error instanceof LineFault
      ? ERRORS.create('LINE_INVALID', { line: this.#lines + 1, reason, stored }, { cause: error })
      : ERRORS.create('UPLOAD_CUT_OFF', { reason, stored }, { cause: error });
  }
}
