import type { BulkActionConfig } from '@millrace/bulk-action';
import { BulkActionEngine, BulkActionModule, BulkActionService } from '@millrace/bulk-action/nestjs';
import { BatchBacking } from '@millrace/orchestrator/batch';
import { BulkBacking } from '@millrace/orchestrator/bulk';
import { OrchestratorHost, OrchestratorModule } from '@millrace/orchestrator/nestjs';
import { Outbox } from '@millrace/outbox';
import { OutboxModule } from '@millrace/outbox/nestjs';
import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ChatHost } from '../chat/chat-host.js';
import type { ServerConfig } from '../config/model.js';
import { callerOf } from '../security/caller.js';
import { gracePlan } from './grace-plan.js';
import { PARTS, type ServerParts } from './parts.js';

/** The three engines as modules of Nest: they start after everything else and are drained before it. */
export function engineModules(parts: ServerParts): DynamicModule[] {
  return [bulkModule(parts), outboxModule(parts), orchestratorModule(parts)];
}

/**
 * Takes no more work, lets what runs end in its share of the grace period, gives the rest back; callers that wait are answered with
 * their status URLs. All at once: Nest would drain one after the other, and their shares would add up.
 */
export async function drainEngines(nest: Pick<INestApplicationContext, 'get'>): Promise<void> {
  const engine = nest.get(BulkActionEngine);
  const { config } = nest.get<ServerParts>(PARTS);
  await Promise.allSettled([
    nest.get(OrchestratorHost).drain(),
    nest.get(Outbox).stop(),
    engine.pool.stop(),
    engine.held.stop(),
    config.role === 'worker' ? undefined : nest.get(ChatHost).chat.stop(),
  ]);
}

type LimitsGiven = NonNullable<BulkActionConfig['limits']>;

/** Jobs in memory are this process' own: whoever hands in more than it can hold would end it for all. About 1 GB of small jobs. */
const MEMORY_LIMITS = { queuedJobsMax: 1_000_000, tenantQueuedJobsMax: 500_000 };

/** How many jobs may wait. */
export const bulkLimits = ({ redisUrl, bulk }: Pick<ServerConfig, 'redisUrl' | 'bulk'>): LimitsGiven => ({
  ...(redisUrl === undefined && MEMORY_LIMITS),
  ...(bulk.limits as LimitsGiven),
});

const graceMs = ({ config }: ServerParts): number => gracePlan(config.gracePeriodMs).workMs;

function bulkModule(parts: ServerParts): DynamicModule {
  const { config, app, threads, clock, log } = parts;
  const { redisUrl, keyPrefix, role } = config;
  const given = config.bulk as { workerPool?: object; resources?: object };
  return BulkActionModule.register({
    ...given,
    limits: bulkLimits(config),
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
