/**
 * The engine for NestJS: a module that runs it, processors from any module, and everything it offers as injectables.
 *
 * @packageDocumentation
 */
export { AggregatorService } from '../aggregator-service.js';
export { BackpressureService } from '../backpressure-service.js';
export { BulkActionService } from '../bulk-action-service.js';
export type {
  AggregatorConfig,
  BackpressureConfig,
  CongestionConfig,
  FairQueueConfig,
  LimitsConfig,
  ReliableQueueConfig,
  ResourceConfig,
  WatcherConfig,
  WorkerPoolConfig,
} from '../config-sections.js';
export { CongestionStatsService } from '../congestion-stats-service.js';
export { DeadLetterService } from '../dead-letter-service.js';
export { BulkActionEngine } from '../engine.js';
export { IdempotencyService } from '../idempotency-service.js';
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
} from '../options.js';
export { Dispatcher as DispatcherService } from '../pool/dispatcher.js';
export { Fetcher as FetcherService } from '../pool/fetcher.js';
export { OrphanRecovery as OrphanRecoveryService } from '../pool/orphan-recovery.js';
export { Watcher as WatcherService } from '../pool/watcher.js';
export { WorkerPool as WorkerPoolService } from '../pool/worker-pool.js';
export type { Job, JobContext, JobProcessor, JobProcessorResponse, ProcessorAnswer } from '../processor.js';
export type { RedisLocation } from '../redis-location.js';
export { CongestionControlService } from '../services/congestion-control-service.js';
export { FairQueueService } from '../services/fair-queue-service.js';
export { InFlightQueueService } from '../services/in-flight-queue-service.js';
export { NonReadyQueueService } from '../services/non-ready-queue-service.js';
export { RateLimiterService } from '../services/rate-limiter-service.js';
export { ReadyQueueService } from '../services/ready-queue-service.js';
export { RedisKeyBuilder } from '../services/redis-key-builder.js';
export {
  BackpressureDestination,
  GroupStatus,
  JobStatus,
  PriorityLevel,
  WorkerState,
} from '../states.js';
export { BulkProcessor, type BulkProcessorClass, type BulkProcessorOptions } from './decorators.js';
export { BulkActionModule } from './module.js';
export type {
  BulkActionModuleAsyncOptions,
  BulkActionModuleOptions,
  BulkActionOptionsFactory,
  EngineName,
} from './options.js';
export type { AggregatorSource, ProcessorSource, RegistrationOptions } from './registration.js';
export {
  BULK_ACTION_CONFIG,
  type BulkActionProvision,
  bulkActionToken,
  InjectBulkAction,
  JOB_AGGREGATOR,
  JOB_PROCESSOR,
} from './tokens.js';
