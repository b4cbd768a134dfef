import type { ChunkAddress } from './position.js';

/** Up to 64 jobs as they were submitted. */
export interface Chunk {
  readonly address: ChunkAddress;
  /** Raw lines. The job's own are cut from them when it becomes the head. */
  lines: readonly string[];
  /** Number of its jobs. */
  readonly jobs: number;
  /** Size of its lines while they are loaded. */
  bytes: number;
  /** True once its lines were removed to save memory. */
  isEvicted: boolean;
  readonly types: readonly string[];
  /** Time of the submit. */
  readonly createdMs: number;
  /** Not before this time. */
  readonly dueMs: number | undefined;
}

/** Ends of the jobs of a chunk of which others have not ended: two bits a job. */
export interface ChunkOutcomes {
  ended: number;
  readonly bits: Uint8Array;
  /** For the compact line, not in the record: index, attempts, duration and end (both in ms) of each, and codes by index. */
  readonly facts: number[];
  codes: Map<number, string> | undefined;
}

/** A job as it was submitted. */
export interface JobBody {
  /** Empty for a made id. */
  readonly id: string;
  readonly type: string;
  readonly cost: number;
  /** Charge by a function of the user; undefined for the cost. */
  readonly charge: number | undefined;
  readonly deadlineMs: number | undefined;
  readonly traceparent: string | undefined;
  /** JSON. */
  readonly payload: string;
}
