import type { NumberStatistics } from '../../../model.js';
import type { ChunkAddress } from './position.js';

/** Sums of the numbers that results gave under one name. */
export type NumberSums = { -readonly [K in keyof NumberStatistics]: NumberStatistics[K] };

/** The internal job that adds up the results of a round. */
export interface Aggregation {
  /** Number of the last attempt, from 1. It grows over all rounds, so a late settlement fits no later attempt. */
  attempt: number;
  /** Attempts of this round that failed or whose instance died. */
  failures: number;
  /** Empty while no instance runs it. */
  instanceId: string;
  /** Not before this time. */
  dueMs: number;
}

/** What a group knows of what its jobs left in the store. Durable, and part of its record. */
export class Kept {
  /** Results stored so far, over all rounds: the number of the next one. */
  results = 0;
  /** Number of the first result that counts for this round. */
  resultsFrom = 0;
  resultBytes = 0;
  /** Results that were too large to be stored. */
  resultsDropped = 0;
  /** Failed jobs of this round whose details are stored. */
  details = 0;
  /** Dead letters in the store, of all rounds. */
  letters = 0;
  /** Aggregators of its jobs, in the order of their first use. */
  readonly aggregators: string[] = [];
  readonly numbers = new Map<string, NumberSums>();
  /** Chunks of redriven jobs that have not all ended. */
  readonly redriven = new Set<ChunkAddress>();
  /** The same, once their round was cut: what has not ended there becomes a dead letter again. */
  readonly owed = new Set<ChunkAddress>();
  aggregation: Aggregation | undefined;
}

/** What the end of a job changes in `Kept`. Most jobs leave nothing. */
export interface EndKept {
  /** Bytes of the stored result; undefined if none is stored. */
  readonly resultBytes: number | undefined;
  /** True if there was a result that was too large. */
  readonly isDropped: boolean;
  readonly numbers: Readonly<Record<string, number>> | undefined;
  readonly aggregator: string | undefined;
  /** True if its details are stored. */
  readonly isDetailed: boolean;
  /** True if it is a dead letter. */
  readonly isLetter: boolean;
}
