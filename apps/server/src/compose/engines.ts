import { BulkActionModule, BulkActionService } from '@millrace/bulk-action/nestjs';
import { BatchBacking } from '@millrace/orchestrator/batch';
import { BulkBacking } from '@millrace/orchestrator/bulk';
import { OrchestratorModule } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { OutboxModule } from '@millrace/outbox/nestjs';
import type { DynamicModule } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { callerOf } from '../http/caller-of.js';
import type { ServerParts } from './parts.js';

/** The part of the grace period that work gets; the rest is for giving back and closing, whatever the backends do. */
const WORK_SHARE = 0.7;

/**
 * The three engines as modules of Nest: they start after everything else and are drained before it.
 * @param parts - see ServerParts.
 */
export function engineModules(parts: ServerParts): DynamicModule[] {
  return [bulkModule(parts), outboxModule(parts), orchestratorModule(parts)];
}

const graceMs = ({ config }: ServerParts): number => Math.floor(config.gracePeriodMs * WORK_SHARE);

function bulkModule(parts: ServerParts): DynamicModule {
  const { config, app, threads, clock, log } = parts;
  const { redisUrl, keyPrefix, role } = config;
  const given = config.bulk as { workerPool?: object; resources?: object };
  return BulkActionModule.register({
    ...given,
    resources: { ...app.resources, ...given.resources },
    workerPool: {
      shutdownGracePeriodMs: graceMs(parts),
      ...given.workerPool,
      ...(role === 'api' && { enabled: false }),
    },
    processors: app.processors,
    aggregators: app.aggregators,
    ...(redisUrl !== undefined && { redis: { url: redisUrl, keyPrefix } }),
    threads,
    clock,
    log: log.child({ part: 'bulk-action' }),
  });
}

function outboxModule(parts: ServerParts): DynamicModule {
  const { config, app, database, clock, log } = parts;
  return OutboxModule.forRoot({
    gracePeriodMs: graceMs(parts),
    ...config.outbox,
    ...(config.role === 'api' && { poll: false }),
    schema: config.schema,
    database,
    dags: app.dags,
    clock,
    logger: log.child({ part: 'outbox' }),
  });
}

function orchestratorModule(parts: ServerParts): DynamicModule {
  const { config, app, operations, clock, log } = parts;
  const { worker, ...given } = config.orchestrator as { worker?: object };
  return OrchestratorModule.forRootAsync({
    controller: config.role !== 'worker',
    inject: [BulkActionService, Outbox],
    useFactory: (service: BulkActionService, outbox: Outbox) => ({
      gracePeriodMs: graceMs(parts),
      ...given,
      worker: { ...worker, ...(config.role === 'api' && { enabled: false }) },
      routes: app.routes,
      backings: [new BulkBacking({ service }), new BatchBacking({ outbox, operations })],
      store: operations,
      tenantOf: (request) => callerOf(request as unknown as FastifyRequest).tenant,
      eventStreamsMax: config.limits.streamsMax,
      clock,
      logger: log.child({ part: 'orchestrator' }),
    }),
  });
}
