import {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  groupOption,
  integerOption,
  numberOption,
  type OptionRelation,
  type OptionRule,
  type OptionRules,
  oneOfOption,
  resolveOptions,
} from '@millrace/foundation';
import { isDivisible } from './rules/divisible.js';
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

/** The whole configuration with its defaults in place, frozen. */
export interface ResolvedBulkActionConfig {
  /** Independent engines over which tenants are spread, each with an equal part of what is limited over all; see ADR 0008. */
  readonly shards: number;
  /** What is known of called services, by name; a processor names what it calls. */
  readonly resources: Readonly<Record<string, ResourceConfig>>;
  /** Keeps what every job returned, not only where an aggregator needs it. */
  readonly keepResults: boolean;
  readonly limits: LimitsConfig;
  readonly fairQueue: FairQueueConfig;
  readonly backpressure: BackpressureConfig;
  readonly congestion: CongestionConfig;
  readonly workerPool: WorkerPoolConfig;
  readonly aggregator: AggregatorConfig;
  readonly watcher: WatcherConfig;
  readonly reliableQueue: ReliableQueueConfig;
}

type Section<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The configuration as a user writes it: every section and every key may be left out. */
export interface BulkActionConfig {
  readonly shards?: number | undefined;
  readonly resources?: Readonly<Record<string, ResourceConfig>> | undefined;
  readonly keepResults?: boolean | undefined;
  readonly limits?: Section<LimitsConfig> | undefined;
  readonly fairQueue?:
    | (Section<Omit<FairQueueConfig, 'priorityWeights'>> & {
        readonly priorityWeights?: Section<FairQueueConfig['priorityWeights']> | undefined;
      })
    | undefined;
  readonly backpressure?: Section<BackpressureConfig> | undefined;
  readonly congestion?: Section<CongestionConfig> | undefined;
  readonly workerPool?: Section<WorkerPoolConfig> | undefined;
  readonly aggregator?: Section<AggregatorConfig> | undefined;
  readonly watcher?: Section<WatcherConfig> | undefined;
  readonly reliableQueue?: Section<ReliableQueueConfig> | undefined;
}

/** Defaults of the section `limits`. */
export const DEFAULT_LIMITS_CONFIG: LimitsConfig = Object.freeze({
  payloadBytesMax: 262_144,
  costMax: 1000,
  queuedJobsMax: 0,
  tenantQueuedJobsMax: 0,
  resultBytesMax: 16_384,
  groupResultBytesMax: 268_435_456,
  jobRetentionMs: 3_600_000,
});

/** Defaults of the section `fairQueue`. */
export const DEFAULT_FAIR_QUEUE_CONFIG: FairQueueConfig = Object.freeze({
  charge: 'job',
  alpha: 0,
  maxShare: 1,
  priorityWeights: Object.freeze({ high: 8, normal: 4, low: 1 }),
});

/** Defaults of the section `backpressure`. */
export const DEFAULT_BACKPRESSURE_CONFIG: BackpressureConfig = Object.freeze({
  globalRps: 10_000,
  readyQueueMaxSize: 10_000,
  readyHorizonMs: 50,
  dispatchIntervalMs: 100,
  dispatchBatchSize: 100,
  defaultBackoffMs: 1000,
  maxBackoffMs: 60_000,
});

/** Defaults of the section `congestion`. */
export const DEFAULT_CONGESTION_CONFIG: CongestionConfig = Object.freeze({
  enabled: true,
  initialRps: 0,
  baseBackoffMs: 1000,
  maxBackoffMs: 120_000,
  statsRetentionMs: 3_600_000,
});

/** Defaults of the section `workerPool`. */
export const DEFAULT_WORKER_POOL_CONFIG: WorkerPoolConfig = Object.freeze({
  enabled: true,
  workerCount: 10,
  fetchIntervalMs: 200,
  fetchBatchSize: 50,
  workerTimeoutSec: 5,
  jobTimeoutMs: 30_000,
  abortGraceMs: 5000,
  maxRetryCount: 3,
  shutdownGracePeriodMs: 30_000,
});

/** Defaults of the section `aggregator`. */
export const DEFAULT_AGGREGATOR_CONFIG: AggregatorConfig = Object.freeze({
  failedDetailsMaxCount: 1000,
  resultRetentionMs: 86_400_000,
});

/** Defaults of the section `watcher`. */
export const DEFAULT_WATCHER_CONFIG: WatcherConfig = Object.freeze({
  intervalMs: 5000,
  groupTimeoutMs: 3_600_000,
  staleGroupThresholdMs: 60_000,
  lockTtlMs: 30_000,
  lockRetryCount: 3,
  lockRetryDelayMs: 200,
});

/** Defaults of the section `reliableQueue`. */
export const DEFAULT_RELIABLE_QUEUE_CONFIG: ReliableQueueConfig = Object.freeze({
  ackTimeoutMs: 40_000,
  orphanRecoveryIntervalMs: 5000,
  orphanRecoveryBatchSize: 100,
  maxOrphanCount: 3,
  idempotencyTtlMs: 86_400_000,
  deadLetterRetentionMs: 2_592_000_000,
});

/** All defaults, by section. */
export const BULK_ACTION_DEFAULTS: ResolvedBulkActionConfig = Object.freeze({
  shards: 1,
  resources: Object.freeze({}),
  keepResults: false,
  limits: DEFAULT_LIMITS_CONFIG,
  fairQueue: DEFAULT_FAIR_QUEUE_CONFIG,
  backpressure: DEFAULT_BACKPRESSURE_CONFIG,
  congestion: DEFAULT_CONGESTION_CONFIG,
  workerPool: DEFAULT_WORKER_POOL_CONFIG,
  aggregator: DEFAULT_AGGREGATOR_CONFIG,
  watcher: DEFAULT_WATCHER_CONFIG,
  reliableQueue: DEFAULT_RELIABLE_QUEUE_CONFIG,
});

const count = integerOption({ min: 0 });
const positive = integerOption({ min: 1 });
const weight = numberOption({ min: 0.001, max: 1_000_000 });

const RESOURCE_RULES: OptionRules<ResourceConfig> = {
  rps: numberOption({ min: 0.0001, max: 1_000_000 }),
  initialRps: numberOption({ min: 0, max: 1_000_000 }),
  adaptiveConcurrency: booleanOption(),
  concurrency: positive,
};

/** Names are the user's, so only what they stand for is checked. */
const resourcesOption: OptionRule = {
  expected: 'an object of resources by name, each with rps, initialRps, adaptiveConcurrency, concurrency',
  accepts: (value) => typeof value === 'object' && value !== null && Object.values(value).every(isResource),
};

const isResource = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(
    ([key, setting]) =>
      Object.hasOwn(RESOURCE_RULES, key) &&
      (setting === undefined || RESOURCE_RULES[key as keyof ResourceConfig].accepts(setting)),
  );

const RULES = {
  shards: integerOption({ min: 1, max: 1024 }),
  resources: resourcesOption,
  keepResults: booleanOption(),
  limits: groupOption<LimitsConfig>({
    payloadBytesMax: positive,
    costMax: integerOption({ min: 1, max: 1_000_000 }),
    queuedJobsMax: count,
    tenantQueuedJobsMax: count,
    resultBytesMax: positive,
    groupResultBytesMax: positive,
    jobRetentionMs: durationOption(),
  }),
  fairQueue: groupOption<FairQueueConfig>({
    charge: anyOption(oneOfOption('job', 'time'), functionOption()),
    alpha: numberOption({ min: 0, max: 100 }),
    maxShare: numberOption({ min: 0.001, max: 1 }),
    priorityWeights: groupOption<FairQueueConfig['priorityWeights']>({
      high: weight,
      normal: weight,
      low: weight,
    }),
  }),
  backpressure: groupOption<BackpressureConfig>({
    globalRps: numberOption({ min: 0, max: 1_000_000 }),
    burst: positive,
    readyQueueMaxSize: positive,
    readyHorizonMs: durationOption(),
    dispatchIntervalMs: durationOption({ min: 1 }),
    dispatchBatchSize: positive,
    defaultBackoffMs: durationOption(),
    maxBackoffMs: durationOption(),
  }),
  congestion: groupOption<CongestionConfig>({
    enabled: booleanOption(),
    initialRps: numberOption({ min: 0 }),
    baseBackoffMs: durationOption(),
    maxBackoffMs: durationOption(),
    statsRetentionMs: durationOption(),
  }),
  workerPool: groupOption<WorkerPoolConfig>({
    enabled: booleanOption(),
    workerCount: integerOption({ min: 0, max: 100_000 }),
    fetchIntervalMs: durationOption({ min: 1 }),
    fetchBatchSize: positive,
    workerTimeoutSec: numberOption({ min: 0.001 }),
    jobTimeoutMs: durationOption({ min: 1 }),
    abortGraceMs: durationOption(),
    maxRetryCount: count,
    shutdownGracePeriodMs: durationOption(),
  }),
  aggregator: groupOption<AggregatorConfig>({
    failedDetailsMaxCount: count,
    resultRetentionMs: durationOption(),
  }),
  watcher: groupOption<WatcherConfig>({
    intervalMs: durationOption({ min: 1 }),
    groupTimeoutMs: durationOption({ min: 1 }),
    staleGroupThresholdMs: durationOption({ min: 1 }),
    lockTtlMs: durationOption({ min: 1 }),
    lockRetryCount: count,
    lockRetryDelayMs: durationOption(),
  }),
  reliableQueue: groupOption<ReliableQueueConfig>({
    ackTimeoutMs: durationOption({ min: 3 }),
    orphanRecoveryIntervalMs: durationOption({ min: 1 }),
    orphanRecoveryBatchSize: positive,
    maxOrphanCount: count,
    idempotencyTtlMs: durationOption({ min: 1 }),
    deadLetterRetentionMs: durationOption({ min: 1 }),
  }),
};

const RELATIONS: readonly OptionRelation<ResolvedBulkActionConfig>[] = [
  {
    option: 'backpressure',
    expected: 'such that defaultBackoffMs ≤ maxBackoffMs',
    holds: ({ backpressure }) => backpressure.defaultBackoffMs <= backpressure.maxBackoffMs,
  },
  {
    option: 'congestion',
    expected: 'such that baseBackoffMs ≤ maxBackoffMs',
    holds: ({ congestion }) => congestion.baseBackoffMs <= congestion.maxBackoffMs,
  },
  {
    option: 'shards',
    expected:
      'at most limits.queuedJobsMax, backpressure.burst, backpressure.readyQueueMaxSize and every concurrency of resources: each shard gets its part of them; raise those or lower this',
    holds: isDivisible,
  },
];

/**
 * Completes and checks the configuration.
 * @param config - what the user wrote; partial sections are merged over the defaults.
 * @returns the configuration, frozen at every level.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export const resolveBulkActionConfig = (config: BulkActionConfig = {}): ResolvedBulkActionConfig =>
  resolveOptions<ResolvedBulkActionConfig>(
    { owner: 'bulk-action', defaults: BULK_ACTION_DEFAULTS, rules: RULES, relations: RELATIONS },
    config as never,
  );
