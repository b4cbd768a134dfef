/** Requests at a fixed rate, whether or not the answers keep up. */
export interface OpenLoopBrief {
  readonly kind: 'open';
  readonly port: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** Not counted; before the others, at the same rate. */
  readonly warmUpSeconds: number;
  readonly budgetMs: number;
  readonly fastMs: number;
  readonly slowMs: number;
  /** Every so many-th request is slow. */
  readonly slowEvery: number;
}

/** So many requests at a time, the next one when one is answered. */
export interface ClosedLoopBrief {
  readonly kind: 'closed';
  readonly port: number;
  readonly path: string;
  readonly atOnce: number;
  readonly seconds: number;
}

/** The first of the counted requests is about to be sent. */
export interface Warm {
  readonly warm: true;
}

/** Milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** What came of an open loop; times from when a request should have been sent to its answer. */
export interface OpenLoopReport {
  readonly requests: number;
  readonly all: Percentiles;
  readonly fast: Percentiles;
  readonly slow: Percentiles;
  /** Anything but a 200 with its own outcome for fast work and a 202 with its status URL for slow work. */
  readonly errors: number;
  /** Of these: fast work that was answered with a status URL. */
  readonly fastConverted: number;
  /** Of each kind: how often, and an example. */
  readonly complaints: readonly string[];
  /** From when requests should have been sent to when they were. */
  readonly sendDelay: Percentiles;
  readonly wallMs: number;
  /** Of the load itself. */
  readonly cpuMs: number;
  /** Operations that were answered with a status URL and did not end as COMPLETED with their own outcome. */
  readonly unfinished: number;
}

/** What came of a closed loop. */
export interface ClosedLoopReport {
  readonly requests: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}
