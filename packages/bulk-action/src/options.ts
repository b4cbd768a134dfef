import {
  anyOption,
  booleanOption,
  durationOption,
  functionOption,
  integerOption,
  numberOption,
  type OptionConstraint,
  type OptionRule,
  type OptionRules,
  oneOfOption,
  resolveOptions,
  sectionOption,
} from '@millrace/foundation';
import type {
  AggregatorConfig,
  BackpressureConfig,
  CongestionConfig,
  FairQueueConfig,
  LimitsConfig,
  ReliableQueueConfig,
  ResourceConfig,
  WatcherConfig,
  WorkerPoolConfig,
} from './config-sections.js';
import { isDivisible } from './rules/divisible.js';

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
  limits: sectionOption<LimitsConfig>({
    payloadBytesMax: positive,
    costMax: integerOption({ min: 1, max: 1_000_000 }),
    queuedJobsMax: count,
    tenantQueuedJobsMax: count,
    resultBytesMax: positive,
    groupResultBytesMax: positive,
    jobRetentionMs: durationOption(),
  }),
  fairQueue: sectionOption<FairQueueConfig>({
    charge: anyOption(oneOfOption('job', 'time'), functionOption()),
    alpha: numberOption({ min: 0, max: 100 }),
    maxShare: numberOption({ min: 0.001, max: 1 }),
    priorityWeights: sectionOption<FairQueueConfig['priorityWeights']>({
      high: weight,
      normal: weight,
      low: weight,
    }),
  }),
  backpressure: sectionOption<BackpressureConfig>({
    globalRps: numberOption({ min: 0, max: 1_000_000 }),
    burst: positive,
    readyQueueMaxSize: positive,
    readyHorizonMs: durationOption(),
    dispatchIntervalMs: durationOption({ min: 1 }),
    dispatchBatchSize: positive,
    defaultBackoffMs: durationOption(),
    maxBackoffMs: durationOption(),
  }),
  congestion: sectionOption<CongestionConfig>({
    enabled: booleanOption(),
    initialRps: numberOption({ min: 0 }),
    baseBackoffMs: durationOption(),
    maxBackoffMs: durationOption(),
    statsRetentionMs: durationOption(),
  }),
  workerPool: sectionOption<WorkerPoolConfig>({
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
  aggregator: sectionOption<AggregatorConfig>({
    failedDetailsMaxCount: count,
    resultRetentionMs: durationOption(),
  }),
  watcher: sectionOption<WatcherConfig>({
    intervalMs: durationOption({ min: 1 }),
    groupTimeoutMs: durationOption({ min: 1 }),
    staleGroupThresholdMs: durationOption({ min: 1 }),
    lockTtlMs: durationOption({ min: 1 }),
    lockRetryCount: count,
    lockRetryDelayMs: durationOption(),
  }),
  reliableQueue: sectionOption<ReliableQueueConfig>({
    ackTimeoutMs: durationOption({ min: 3 }),
    orphanRecoveryIntervalMs: durationOption({ min: 1 }),
    orphanRecoveryBatchSize: positive,
    maxOrphanCount: count,
    idempotencyTtlMs: durationOption({ min: 1 }),
    deadLetterRetentionMs: durationOption({ min: 1 }),
  }),
};

const RELATIONS: readonly OptionConstraint<ResolvedBulkActionConfig>[] = [
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
