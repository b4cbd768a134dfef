/**
 * The multi-tenant engine: every tenant's fair share, within every limit, nothing lost, everything counted once.
 *
 * @packageDocumentation
 */

export type { Aggregation, AggregationClaim, ResultSearch, StoredResult } from './aggregation.js';
export {
  type AggregationContext,
  type Aggregator,
  AggregatorRegistry,
  DEFAULT_AGGREGATOR_TYPE,
  defineAggregator,
  type JobResult,
} from './aggregator.js';
export {
  AggregatorService,
  type AggregatorServiceDependencies,
  type FinalizeAnswer,
  type RecordedResult,
} from './aggregator-service.js';
export { BackpressureService, type BackpressureServiceDependencies } from './backpressure-service.js';
export {
  BulkActionService,
  type BulkActionServiceDependencies,
  type BulkSubmitted,
  type JobsAdded,
  type SubmitBulkOptions,
} from './bulk-action-service.js';
export type {
  AggregatorConfig,
  BackpressureConfig,
  Charge,
  CongestionConfig,
  FairQueueConfig,
  LimitsConfig,
  ReliableQueueConfig,
  ResourceConfig,
  WatcherConfig,
  WorkerPoolConfig,
} from './config-sections.js';
export type {
  CongestionPoint,
  GroupCongestion,
  GroupPoint,
  GroupSlowness,
  ResourceCongestion,
  ResourcePoint,
  ResourceState,
} from './congestion-stats.js';
export {
  CongestionStatsService,
  type CongestionStatsServiceDependencies,
} from './congestion-stats-service.js';
export {
  type DeadLetterQuery,
  type DeadLetterSelection,
  DeadLetterService,
  type MoveOptions,
} from './dead-letter-service.js';
export { BulkActionEngine, type BulkActionEngineOptions } from './engine.js';
export { ERRORS } from './errors.js';
export { GroupViews } from './group-views.js';
export {
  IdempotencyService,
  type IdempotencyServiceDependencies,
  type OnceContext,
} from './idempotency-service.js';
export type {
  LeasedJob,
  LeaseRef,
  Outcome,
  RecoverAnswer,
  ReserveAnswer,
  ReserveRequest,
  SettleAnswer,
  Settlement,
} from './lease.js';
export { MemoryStore } from './memory/store.js';
export type {
  CongestionLevel,
  DeadLetter,
  DeadLetterSample,
  DeadLetterSignature,
  DurationStatistics,
  FailedJob,
  FailedTry,
  GroupCounts,
  GroupEvent,
  GroupInput,
  GroupKey,
  GroupPatch,
  GroupProgress,
  GroupResult,
  GroupView,
  InstanceView,
  JobInput,
  JobView,
  Moment,
  NumberStatistics,
  Page,
  QueuesView,
  TenantPatch,
  TenantShare,
  TenantView,
} from './model.js';
export type { AddJobsOptions } from './new-jobs.js';
export {
  BULK_ACTION_DEFAULTS,
  type BulkActionConfig,
  DEFAULT_AGGREGATOR_CONFIG,
  DEFAULT_BACKPRESSURE_CONFIG,
  DEFAULT_CONGESTION_CONFIG,
  DEFAULT_FAIR_QUEUE_CONFIG,
  DEFAULT_LIMITS_CONFIG,
  DEFAULT_RELIABLE_QUEUE_CONFIG,
  DEFAULT_WATCHER_CONFIG,
  DEFAULT_WORKER_POOL_CONFIG,
  type ResolvedBulkActionConfig,
  resolveBulkActionConfig,
} from './options.js';
export type { PageRequest } from './page-request.js';
export { AggregationRunner } from './pool/aggregation.js';
export type { PoolCounters, PoolHistograms } from './pool/counters.js';
export { Dispatcher, type DispatcherStats } from './pool/dispatcher.js';
export type { PoolEnvironment } from './pool/environment.js';
export { Fetcher, type FetcherStats } from './pool/fetcher.js';
export type { SettledTry } from './pool/job-tries.js';
export { OrphanRecovery } from './pool/orphan-recovery.js';
export type { AggregationOutcome } from './pool/run-aggregation.js';
export type { PoolStatus, WorkerStatus } from './pool/status.js';
export { type Watched, Watcher } from './pool/watcher.js';
export { Worker } from './pool/worker.js';
export { WorkerPool, type WorkerPoolOptions } from './pool/worker-pool.js';
export {
  ADD_BATCH_MAX,
  type AddAnswer,
  type Admission,
  type AdmitReason,
  type Aggregations,
  type BulkStore,
  type DeadLetterFilter,
  type DeadLetterStore,
  type DispatchAnswer,
  FAILED_TRIES_KEPT,
  type FetchAnswer,
  type Gate,
  type GroupAnswer,
  type GroupDefinition,
  type GroupStore,
  type Heartbeat,
  type IdempotencyStore,
  INSTANCE_TTL_MS,
  type Instances,
  type Leases,
  type LookAnswer,
  type NewJob,
  RECONCILE_JOBS_MAX,
  type ReconcileAnswer,
  type Upkeep,
  type WakeUpKind,
  type WakeUps,
  type Watch,
} from './ports.js';
export {
  defineProcessor,
  type Job,
  type JobContext,
  type JobProcessor,
  type JobProcessorResponse,
  type ProcessorAnswer,
  ProcessorRegistry,
} from './processor.js';
export type { GroupChange } from './refusals.js';
export type { ExplainFacts, Explanation, GateName, GateView, ScopeFacts } from './rules/explain.js';
export {
  DURATION_BOUNDS_MS,
  durationStatistics,
  type Histogram,
  newHistogram,
  recordDuration,
} from './rules/histogram.js';
export { checkRequestId } from './rules/ids.js';
export { effectiveWeight } from './rules/sfq.js';
export {
  CongestionControlService,
  type CongestionControlServiceDependencies,
  type ThrottledJob,
} from './services/congestion-control-service.js';
export { type EngineServices, engineServices } from './services/engine-services.js';
export {
  type EnqueuedJob,
  FairQueueService,
  type FairQueueServiceDependencies,
} from './services/fair-queue-service.js';
export { type HeldJob, HeldJobs, type HeldJobsDependencies } from './services/held-jobs.js';
export { InFlightQueueService } from './services/in-flight-queue-service.js';
export {
  NonReadyQueueService,
  type NonReadyQueueServiceDependencies,
  type PutOffJob,
} from './services/non-ready-queue-service.js';
export { RateLimiterService, type RateLimiterServiceDependencies } from './services/rate-limiter-service.js';
export {
  type JobRef,
  ReadyQueueService,
  type ReadyQueueServiceDependencies,
} from './services/ready-queue-service.js';
export {
  REDIS_KEYS,
  RedisKeyBuilder,
  type RedisKeyName,
  type RedisKeyOptions,
  type RedisKeyValues,
} from './services/redis-key-builder.js';
export type { BulkShard, GroupHome, HomeClaim, MarkedPage, Shard } from './shard-port.js';
export { ShardedStore } from './sharding/store.js';
export {
  BackpressureDestination,
  GROUP_TRANSITIONS,
  GroupStatus,
  hasEnded,
  JobPlace,
  JobStatus,
  NonReadyReason,
  PriorityLevel,
  WorkerState,
} from './states.js';
export type { GroupFilter, StoreViews } from './store-views.js';
export type { ThreadRunner, ThreadTaskRef } from './thread-runner.js';
