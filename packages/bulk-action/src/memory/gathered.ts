import type { StoredResult } from '../aggregation.js';

/** What settlements have left for the aggregation of their group; made with the first that leaves something. */
export class Gathered {
  /** Types of which a settlement asked for an aggregation. They stay over rounds: the next one adds up all results. */
  readonly types: string[] = [];
  /** In the order of settlement. */
  results: StoredResult[] = [];
  bytes = 0;
  dropped = 0;
  readonly numbers = new Map<string, { count: number; sum: number; min: number; max: number }>();
}

/** The lock on the results of a group; there exactly while it is AGGREGATING. */
export interface AggregationLock {
  /** Since when its jobs are done: by the store's time, and as a date. */
  readonly sinceMs: number;
  readonly doneAt: number;
  /** From when on it may be claimed. */
  freeMs: number;
  /** Who holds it, or held it last. */
  token: string | undefined;
  failures: number;
}
