import type { GroupKey } from './model.js';

/** A group whose jobs are all done and whose results are to be added up. */
export interface Aggregation {
  readonly key: GroupKey;
  readonly round: number;
  /** Processor types of which a settlement asked for it, in the order they first did. */
  readonly types: readonly string[];
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  /** The first start and the last end of a job, milliseconds since 1970. */
  readonly startedAt: number;
  readonly completedAt: number;
  readonly traceparent: string;
}

/** The answer to a claim. */
export interface AggregationClaim {
  /** What the token holds now; absent: nothing is free. */
  readonly aggregation?: Aggregation;
  /** Nothing is free now: when the next one will be, if there is one. */
  readonly nextInMs?: number;
}

/** One stored result of a job. */
export interface StoredResult {
  readonly jobId: string;
  readonly processorType: string;
  /** JSON; absent when the processor gave nothing. */
  readonly data?: string;
}

/** What a look for the result of a job came to. */
export interface ResultSearch {
  /** The newest of the job. */
  readonly found?: StoredResult;
  /** Not among those looked through: where to go on; absent when there are no more. */
  readonly cursor?: string;
}

/** How often an aggregation that failed is tried again. */
export const AGGREGATION_RETRIES = 3;

/** How long a failed aggregation rests, times its failures. */
export const AGGREGATION_PAUSE_MS = 1000;

/** How many free aggregations one claim passes over. */
export const AGGREGATION_LOOKS_MAX = 100;

/** How many names of numbers a group keeps; further ones are not counted. */
export const NUMBER_NAMES_MAX = 100;
