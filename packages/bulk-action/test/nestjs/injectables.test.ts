import 'reflect-metadata';
import type { LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from 'vitest';
import * as entry from '../../src/nestjs/index.js';
import { boot, QUIET } from './boot.js';

const { BulkActionModule } = entry;

/** As the specification lists them, each with its members. */
const INJECTABLES: readonly (readonly [
  name: string,
  type: entry.BulkActionProvision,
  members: readonly string[],
])[] = [
  [
    'BulkActionService',
    entry.BulkActionService,
    [
      ...['createGroup', 'addJobs', 'seal', 'submitBulk', 'submitJob', 'getProgress', 'getResult', 'getJob'],
      ...['listGroups', 'listJobs', 'getTenant', 'getFairness', 'getQueues', 'explain', 'cancelGroup'],
      ...['pauseGroup', 'resumeGroup', 'updateGroup', 'updateTenant'],
    ],
  ],
  ['FairQueueService', entry.FairQueueService, ['enqueue', 'dequeue', 'ack']],
  ['BackpressureService', entry.BackpressureService, ['admit', 'requeue']],
  ['ReadyQueueService', entry.ReadyQueueService, ['push', 'pushAll', 'size', 'hasCapacity', 'reliablePop']],
  ['NonReadyQueueService', entry.NonReadyQueueService, ['add', 'size']],
  ['RateLimiterService', entry.RateLimiterService, ['checkRate', 'deactivateGroup']],
  ['CongestionControlService', entry.CongestionControlService, ['addToNonReady', 'resetGroupStats']],
  ['CongestionStatsService', entry.CongestionStatsService, ['getStats']],
  ['FetcherService', entry.FetcherService, ['start', 'stop', 'isRunning', 'getStats']],
  ['DispatcherService', entry.DispatcherService, ['start', 'stop', 'isRunning', 'getStats', 'dispatchOnce']],
  ['WorkerPoolService', entry.WorkerPoolService, ['getPoolStatus', 'scaleWorkers', 'onApplicationShutdown']],
  ['AggregatorService', entry.AggregatorService, ['recordJobResult', 'finalizeGroup']],
  ['WatcherService', entry.WatcherService, ['watchOnce']],
  ['InFlightQueueService', entry.InFlightQueueService, ['ack', 'recoverAll']],
  ['OrphanRecoveryService', entry.OrphanRecoveryService, ['recoverOnce']],
  ['DeadLetterService', entry.DeadLetterService, ['list', 'signatures', 'redrive', 'purge']],
  ['IdempotencyService', entry.IdempotencyService, ['runOnce']],
  ['RedisKeyBuilder', entry.RedisKeyBuilder, ['key']],
];

describe('bulk-action BA-17: the entry', () => {
  it.each(INJECTABLES)(
    'bulk-action BA-17: %s can be injected and has its members',
    async (name, type, members) => {
      const app = await boot({
        imports: [BulkActionModule.register(QUIET), BulkActionModule.register({ ...QUIET, name: 'b' })],
      });
      const own = app.get<Record<string, unknown>>(type as symbol);
      for (const member of members) expect(own[member], `${name}.${member}`).toBeTypeOf('function');
      expect(app.get(type as symbol), 'one instance').toBe(own);
      expect(app.get(entry.bulkActionToken(type, 'b')), 'each engine its own').not.toBe(own);
    },
  );

  it('bulk-action BA-17: exports tokens, defaults and constants', () => {
    for (const token of [entry.JOB_PROCESSOR, entry.BULK_ACTION_CONFIG]) expect(token).toBeTypeOf('symbol');
    expect(entry.BULK_ACTION_DEFAULTS).toMatchObject({
      fairQueue: entry.DEFAULT_FAIR_QUEUE_CONFIG,
      backpressure: entry.DEFAULT_BACKPRESSURE_CONFIG,
      congestion: entry.DEFAULT_CONGESTION_CONFIG,
      workerPool: entry.DEFAULT_WORKER_POOL_CONFIG,
      aggregator: entry.DEFAULT_AGGREGATOR_CONFIG,
      watcher: entry.DEFAULT_WATCHER_CONFIG,
      reliableQueue: entry.DEFAULT_RELIABLE_QUEUE_CONFIG,
      limits: entry.DEFAULT_LIMITS_CONFIG,
    });
    const { WorkerState, JobStatus, GroupStatus, PriorityLevel, BackpressureDestination } = entry;
    expect([WorkerState.IDLE, JobStatus.PENDING, GroupStatus.CREATED, PriorityLevel.HIGH]).toEqual([
      'IDLE',
      'PENDING',
      'CREATED',
      'high',
    ]);
    expect(BackpressureDestination.REJECTED).toBe('REJECTED');
  });

  it('bulk-action BA-17: log lines go to the logger of the application, with the name of the engine', async () => {
    const lines: { level: string; message: string; engine?: string }[] = [];
    const at = (level: string) => (line: { message: string; engine?: string }) =>
      void lines.push({ ...line, level });
    const logger: LoggerService = {
      log: at('log'),
      warn: at('warn'),
      error: at('error'),
      debug: at('debug'),
    };
    class Root {}
    const { log: _, ...options } = QUIET;
    const imports = [BulkActionModule.register({ ...options, name: 'mail' })];
    const app = await NestFactory.createApplicationContext(
      { module: Root, imports },
      { abortOnError: false, logger },
    );
    await app.close();
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'log', message: 'Workers started: 2', engine: 'mail' }),
    );
    expect(lines).toContainEqual(expect.objectContaining({ level: 'log', message: 'WorkerPool stopped' }));
  });
});
