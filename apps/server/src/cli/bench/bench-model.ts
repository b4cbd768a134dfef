/** How much is measured. */
export interface BenchSize {
  readonly jobs: number;
  readonly operations: number;
  /** Requests at once. */
  readonly clients: number;
}

/** How fast jobs went through. */
export interface JobsMeasured {
  readonly count: number;
  readonly acceptedMs: number;
  readonly acceptedPerSecond: number;
  /** From the first request to the end of the group, by the clock of the store. */
  readonly doneMs: number;
  readonly donePerSecond: number;
}

/** How fast operations were answered. */
export interface OperationsMeasured {
  readonly count: number;
  readonly ms: number;
  readonly perSecond: number;
  /** From a request to its answer with the outcome; null: there was none. */
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
  /** Answered with an address where to ask for the outcome. */
  readonly converted: number;
  /** Not taken: the server asked for patience. */
  readonly refused: number;
}

/** On what it was measured. */
export interface MeasuredOn {
  readonly url: string;
  readonly ownServer: boolean;
  readonly version: string;
  /** One process that needs nothing else. */
  readonly embedded: boolean;
  /** Those that run jobs; null: this key may not ask. */
  readonly instances: number | null;
  /** Of all instances together. */
  readonly workers: number | null;
}

/** What a quick look has found. */
export interface BenchResult {
  readonly on: MeasuredOn;
  readonly clients: number;
  readonly jobs: JobsMeasured | null;
  readonly operations: OperationsMeasured | null;
}

/** Is told how far a part is. */
export type Progress = (done: number, total: number) => void;
