import type { GroupResult } from '../../../model.js';
import type { JobOutcome } from '../state/change.js';
import { ByteReader, ByteWriter } from './bytes.js';

const VALUE_VERSION = 1;

/** What a side write stores: facts, and texts of users, which no reader has to parse to get at the facts. */
export interface StoredValue<Facts> {
  readonly facts: Facts;
  /** JSON. */
  readonly payload?: string | undefined;
  /** JSON. */
  readonly data?: string | undefined;
}

/** The result of a job. Without data if the job gave none, or if it was dropped. */
export interface ResultFacts {
  /** Undefined for a job whose chunk the owner had not loaded; its line has the id. */
  readonly jobId: string | undefined;
  readonly position: number;
  readonly type: string | undefined;
  readonly dropped?: DropReason | undefined;
}

/** Why a result is not stored: it is larger than `resultBytesMax`, or those of its group than `groupResultBytesMax`. */
export type DropReason = 'RESULT_TOO_LARGE' | 'GROUP_RESULTS_FULL';

/** A failed job, for the list in the result of its group. */
export interface DetailFacts {
  readonly jobId: string | undefined;
  readonly code: string;
  readonly message: string;
}

/** One attempt of a job. */
export interface AttemptFacts {
  readonly attempt: number;
  /** When it had its turn; undefined if another owner gave it. */
  readonly readyMs?: number | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly durationMs: number;
  readonly instanceId: string;
  /** The gate that held it longest before its turn, and for how long. */
  readonly gate?: string | undefined;
  readonly gateMs?: number | undefined;
  /** Of a failure. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  readonly errorClass?: string | undefined;
}

/** A dead letter without its body's payload. Its attempts are stored under its position. */
export interface LetterFacts {
  readonly jobId: string;
  readonly type: string;
  readonly cost: number;
  readonly charge?: number | undefined;
  readonly deadlineMs?: number | undefined;
  readonly traceparent?: string | undefined;
  readonly createdMs: number;
  readonly failedMs: number;
  readonly attempts: number;
  readonly retryCount: number;
  readonly orphanCount: number;
  readonly code: string;
  readonly message: string;
  readonly errorClass?: string | undefined;
  readonly signature: string;
  readonly round: number;
  /** As what the round counts the job. */
  readonly countedAs: 'failed' | 'cancelled';
  /** True if its details are stored. */
  readonly isDetailed: boolean;
}

/** A finished job, kept for a while so that a person can see what jobs are given and return. */
export interface RecentFacts {
  readonly groupId: string;
  readonly tenantId: string;
  readonly jobId: string;
  readonly position: number;
  readonly type: string;
  readonly outcome: JobOutcome;
  readonly attempts: number;
  readonly readyMs?: number | undefined;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly durationMs: number;
  readonly code?: string | undefined;
  readonly message?: string | undefined;
  /** Sizes of payload and result that are stored in part only. */
  readonly payloadBytes?: number | undefined;
  readonly dataBytes?: number | undefined;
  /** Why the result was not stored. */
  readonly dropped?: DropReason | undefined;
}

/** The result of a round. The list of failed jobs is stored apart. */
export type RoundFacts = Omit<GroupResult, 'failedJobs' | 'data'> & { readonly tenant: string };

const HAS_PAYLOAD = 1;
const HAS_DATA = 2;
const scratch = new ByteWriter();

/** Writes a value. The engine encodes values itself, so that their format is the same in every journal. */
export function encodeValue<Facts>({ facts, payload, data }: StoredValue<Facts>): Uint8Array {
  const out = scratch.begin(VALUE_VERSION);
  out.byte((payload === undefined ? 0 : HAS_PAYLOAD) + (data === undefined ? 0 : HAS_DATA));
  out.text(JSON.stringify(facts));
  if (payload !== undefined) out.text(payload);
  if (data !== undefined) out.text(data);
  return out.finish();
}

/** Reads a value. @throws FormatError if it is damaged. */
export function decodeValue<Facts>(bytes: Uint8Array): StoredValue<Facts> {
  const from = new ByteReader(bytes, VALUE_VERSION);
  const flags = from.byte();
  const facts = JSON.parse(from.text()) as Facts;
  const payload = flags & HAS_PAYLOAD ? from.text() : undefined;
  const data = flags & HAS_DATA ? from.text() : undefined;
  return { facts, payload, data };
}
