import { describe, expect, it } from 'vitest';
import * as bulkAction from '../src/index.js';

describe('the package', () => {
  it('exports the engine, its services, its roles, the constants and the defaults, and nothing else', () => {
    expect(Object.keys(bulkAction).sort()).toEqual([
      'ADD_BATCH_MAX',
      'AggregationRunner',
      'AggregatorRegistry',
      'AggregatorService',
      'BULK_ACTION_DEFAULTS',
      'BackpressureDestination',
      'BackpressureService',
      'BulkActionEngine',
      'BulkActionService',
      'CongestionControlService',
      'CongestionStatsService',
      'DEFAULT_AGGREGATOR_CONFIG',
      'DEFAULT_AGGREGATOR_TYPE',
      'DEFAULT_BACKPRESSURE_CONFIG',
      'DEFAULT_CONGESTION_CONFIG',
      'DEFAULT_FAIR_QUEUE_CONFIG',
      'DEFAULT_LIMITS_CONFIG',
      'DEFAULT_RELIABLE_QUEUE_CONFIG',
      'DEFAULT_WATCHER_CONFIG',
      'DEFAULT_WORKER_POOL_CONFIG',
      'DURATION_BOUNDS_MS',
      'DeadLetterService',
      'Dispatcher',
      'ERRORS',
      'FAILED_TRIES_KEPT',
      'FairQueueService',
      'Fetcher',
      'GROUP_TRANSITIONS',
      'GroupStatus',
      'GroupViews',
      'HeldJobs',
      'INSTANCE_TTL_MS',
      'IdempotencyService',
      'InFlightQueueService',
      'JobPlace',
      'JobStatus',
      'MemoryStore',
      'NonReadyQueueService',
      'NonReadyReason',
      'OrphanRecovery',
      'PriorityLevel',
      'ProcessorRegistry',
      'RECONCILE_JOBS_MAX',
      'REDIS_KEYS',
      'RateLimiterService',
      'ReadyQueueService',
      'RedisKeyBuilder',
      'ShardedStore',
      'Watcher',
      'Worker',
      'WorkerPool',
      'WorkerState',
      'checkRequestId',
      'defineAggregator',
      'defineProcessor',
      'durationStatistics',
      'effectiveWeight',
      'engineServices',
      'hasEnded',
      'newHistogram',
      'recordDuration',
      'resolveBulkActionConfig',
    ]);
  });

  it('bulk-action BA-12: the defaults by section are the defaults of the whole', () => {
    const { BULK_ACTION_DEFAULTS: all } = bulkAction;
    expect(all.limits).toBe(bulkAction.DEFAULT_LIMITS_CONFIG);
    expect(all.fairQueue).toBe(bulkAction.DEFAULT_FAIR_QUEUE_CONFIG);
    expect(all.backpressure).toBe(bulkAction.DEFAULT_BACKPRESSURE_CONFIG);
    expect(all.congestion).toBe(bulkAction.DEFAULT_CONGESTION_CONFIG);
    expect(all.workerPool).toBe(bulkAction.DEFAULT_WORKER_POOL_CONFIG);
    expect(all.aggregator).toBe(bulkAction.DEFAULT_AGGREGATOR_CONFIG);
    expect(all.watcher).toBe(bulkAction.DEFAULT_WATCHER_CONFIG);
    expect(all.reliableQueue).toBe(bulkAction.DEFAULT_RELIABLE_QUEUE_CONFIG);
  });
});
