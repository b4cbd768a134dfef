import type { PriorityLevel } from './states.js';

/** What counts in the fair order: one job its `cost`, its measured time, or what a function says of it. */
export type Charge =
  | 'job'
  | 'time'
  | ((job: { readonly processorType: string; readonly payload: unknown; readonly cost: number }) => number);

/** What may be stored, and for how long. 0 = off. */
export interface LimitsConfig {
  /** Of one payload as JSON. */
  readonly payloadBytesMax: number;
  /** The most that one job may cost. */
  readonly costMax: number;
  /** Waiting jobs of all; beyond, what is handed in is refused as `QUEUE_FULL`. 0: no limit. */
  readonly queuedJobsMax: number;
  /** The same of one tenant. */
  readonly tenantQueuedJobsMax: number;
  /** What is kept of the result of one job, as JSON. */
  readonly resultBytesMax: number;
  /** What is kept of all results of one group. */
  readonly groupResultBytesMax: number;
  /** How long records of jobs are kept after the end of their group. */
  readonly jobRetentionMs: number;
}

/** In which order. */
export interface FairQueueConfig {
  /** What a turn counts: `'job'` its cost, `'time'` how long it took, or a function of the job. */
  readonly charge: Charge;
  /** How much nearly finished groups are preferred: effective weight × (1 + alpha × done / total). */
  readonly alpha: number;
  /** Largest part of the live slots one group may hold while another can run; 1 = off. */
  readonly maxShare: number;
  /** What the levels of priority weigh. */
  readonly priorityWeights: Readonly<Record<PriorityLevel, number>>;
}

/** How fast. */
export interface BackpressureConfig {
  /** Starts per second over all; 0 = no limit. */
  readonly globalRps: number;
  /** Starts at once over all (max(1, globalRps / 10)). */
  readonly burst?: number;
  /** The most jobs in ready. */
  readonly readyQueueMaxSize: number;
  /** How much work ready holds beyond what waiting workers take at once. */
  readonly readyHorizonMs: number;
  /** How often the Dispatcher looks for jobs that are due. */
  readonly dispatchIntervalMs: number;
  /** The most jobs that it moves at once. */
  readonly dispatchBatchSize: number;
  /** How long the first retry of a failed try waits; doubled each time. */
  readonly defaultBackoffMs: number;
  /** The longest wait of a retry. */
  readonly maxBackoffMs: number;
}

/** When again. */
export interface CongestionConfig {
  /** Whether rates are learnt from what called services refuse. */
  readonly enabled: boolean;
  /** Every service begins with this rate, doubled until it refuses; 0: with none. */
  readonly initialRps: number;
  /** How long a throttled try waits at least. */
  readonly baseBackoffMs: number;
  /** And at most. */
  readonly maxBackoffMs: number;
  /** How far back the history of rates goes; at most 720 points. */
  readonly statsRetentionMs: number;
}

/** Who runs it. */
export interface WorkerPoolConfig {
  /** Whether this process runs jobs; without, it only hands in. */
  readonly enabled: boolean;
  /** Jobs that run here at once. */
  readonly workerCount: number;
  /** How often the Fetcher looks for work that nobody has announced. */
  readonly fetchIntervalMs: number;
  /** The most jobs that it moves at once. */
  readonly fetchBatchSize: number;
  /** The longest sleep of an idle worker without asking the store, in seconds. */
  readonly workerTimeoutSec: number;
  /** The longest try, unless its processor says another. */
  readonly jobTimeoutMs: number;
  /** How long a try may take to stop after its time limit. */
  readonly abortGraceMs: number;
  /** Tries after the first one, unless the processor says another number. */
  readonly maxRetryCount: number;
  /** How long a shutdown takes at most; jobs have all but a fifth of it (5 s at most). */
  readonly shutdownGracePeriodMs: number;
}

/** What came of it. */
export interface AggregatorConfig {
  /** Failed jobs that a result names. */
  readonly failedDetailsMaxCount: number;
  /** How long results of groups are kept. */
  readonly resultRetentionMs: number;
}

/** Who looks after groups that stand still. */
export interface WatcherConfig {
  /** How often groups without progress are looked for. */
  readonly intervalMs: number;
  /** A group without progress for so long fails, unless it says another time. */
  readonly groupTimeoutMs: number;
  /** Counters of groups that have been quiet for so long are compared with their entries. */
  readonly staleGroupThresholdMs: number;
  /** How long one watcher may look until another may. */
  readonly lockTtlMs: number;
  /** How often a watcher tries to be the one. */
  readonly lockRetryCount: number;
  /** How long it waits in between. */
  readonly lockRetryDelayMs: number;
}

/** What if someone dies. */
export interface ReliableQueueConfig {
  /** How long a lease lasts; it is renewed every third of it. */
  readonly ackTimeoutMs: number;
  /** How often leases that have run out are looked for. */
  readonly orphanRecoveryIntervalMs: number;
  /** The most that are taken back at once. */
  readonly orphanRecoveryBatchSize: number;
  /** Leases that a job may lose until it is a dead letter. */
  readonly maxOrphanCount: number;
  /** How long results of `runOnce` are kept. */
  readonly idempotencyTtlMs: number;
  /** How long dead letters are kept. */
  readonly deadLetterRetentionMs: number;
}

/** What is known of a service that processors call. */
export interface ResourceConfig {
  /** Calls that may begin in a second, over all instances. */
  readonly rps?: number | undefined;
  /** The rate it begins with, doubled until it refuses. */
  readonly initialRps?: number | undefined;
  /** Whether the number of calls at once is learnt from how long they take. */
  readonly adaptiveConcurrency?: boolean | undefined;
  /** Calls at once, over all instances. */
  readonly concurrency?: number | undefined;
}
