import { providersFrom } from '@millrace/foundation/nestjs';
import type { FactoryProvider } from '@nestjs/common';
import { AggregatorService } from '../aggregator-service.js';
import { BackpressureService } from '../backpressure-service.js';
import { BulkActionService } from '../bulk-action-service.js';
import { CongestionStatsService } from '../congestion-stats-service.js';
import { DeadLetterService } from '../dead-letter-service.js';
import { BulkActionEngine } from '../engine.js';
import { IdempotencyService } from '../idempotency-service.js';
import { Dispatcher } from '../pool/dispatcher.js';
import { Fetcher } from '../pool/fetcher.js';
import { OrphanRecovery } from '../pool/orphan-recovery.js';
import { Watcher } from '../pool/watcher.js';
import { WorkerPool } from '../pool/worker-pool.js';
import { CongestionControlService } from '../services/congestion-control-service.js';
import { FairQueueService } from '../services/fair-queue-service.js';
import { InFlightQueueService } from '../services/in-flight-queue-service.js';
import { NonReadyQueueService } from '../services/non-ready-queue-service.js';
import { RateLimiterService } from '../services/rate-limiter-service.js';
import { ReadyQueueService } from '../services/ready-queue-service.js';
import { RedisKeyBuilder } from '../services/redis-key-builder.js';
import { EngineHost } from './engine-host.js';
import { BULK_ACTION_CONFIG, type BulkActionProvision, bulkActionToken } from './tokens.js';

/** Everything that an engine provides, and where it comes from. */
const PROVISIONS: readonly (readonly [BulkActionProvision, (host: EngineHost) => unknown])[] = [
  [BULK_ACTION_CONFIG, ({ engine }) => engine.config],
  [BulkActionEngine, ({ engine }) => engine],
  [BulkActionService, ({ engine }) => engine.service],
  [FairQueueService, ({ services }) => services.fairQueue],
  [BackpressureService, ({ engine }) => engine.backpressure],
  [ReadyQueueService, ({ services }) => services.readyQueue],
  [NonReadyQueueService, ({ services }) => services.nonReadyQueue],
  [RateLimiterService, ({ services }) => services.rateLimiter],
  [CongestionControlService, ({ services }) => services.congestionControl],
  [CongestionStatsService, ({ engine }) => engine.congestion],
  [Fetcher, ({ engine }) => engine.pool.fetcher],
  [Dispatcher, ({ engine }) => engine.pool.dispatcher],
  [WorkerPool, ({ engine }) => engine.pool],
  [AggregatorService, ({ engine }) => engine.aggregator],
  [Watcher, ({ engine }) => engine.pool.watcher],
  [InFlightQueueService, ({ services }) => services.inFlightQueue],
  [OrphanRecovery, ({ engine }) => engine.pool.orphanRecovery],
  [DeadLetterService, ({ engine }) => engine.deadLetters],
  [IdempotencyService, ({ engine }) => engine.idempotency],
  [RedisKeyBuilder, ({ keys }) => keys],
];

/** Makes the providers of the engine `engine`, or of the one without a name. */
export const providersOf = (engine: string | undefined): FactoryProvider[] =>
  providersFrom(
    EngineHost,
    PROVISIONS.map(([provision, from]) => [bulkActionToken(provision, engine), from]),
  );
