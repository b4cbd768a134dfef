import 'reflect-metadata';
import { BulkActionService } from '@millrace/bulk-action/nestjs';
import { processName, systemClock, systemRng } from '@millrace/foundation';
import { OrchestratorService, ProblemFilter } from '@millrace/orchestrator/nestjs';
import { PostgresOperationStore } from '@millrace/orchestrator/postgres';
import { Pusher } from '@millrace/outbox';
import { ThreadPool } from '@millrace/runtime';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger as Pino } from 'pino';
import { lateServices } from './compose/app-services.js';
import { awaitBackends } from './compose/await-backends.js';
import { drainEngines } from './compose/engines.js';
import { appPartsOf, loadApp, resolveApp } from './compose/load-app.js';
import { migrateServer, requireServerMigrated } from './compose/migrate.js';
import { databaseOf } from './compose/open-database.js';
import type { ServerParts } from './compose/parts.js';
import { isEmbedded, type ServerConfig } from './config/model.js';
import type { App, AppFactory, AppParts } from './define-app.js';
import { withDemo } from './demo/add-demo.js';
import { createAdapter } from './http/create-adapter.js';
import { Draining } from './http/draining.js';
import { listenError, requireFreePort } from './http/free-port.js';
import { Streams } from './http/streams.js';
import { nestLog, partLog } from './log.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import { PAGE_FOLDER } from './page/page-files.js';
import { ApiKeys, requireKeys } from './security/api-keys.js';
import { ServerModule } from './server-module.js';
import { VERSION } from './version.js';

/** A server that answers. */
export interface RunningServer {
  /** Where it listens. */
  readonly url: string;
  readonly instanceId: string;
  /** Takes no more requests, lets work end within the grace period, gives the rest back, closes everything. */
  close(): Promise<void>;
  /** What `close` is waiting for; undefined before it and after it. */
  readonly closing: string | undefined;
}

/** What a server is started with besides its settings. */
export interface StartOptions {
  readonly log: Pino;
  /** Instead of the module that the settings name. */
  readonly app?: App | undefined;
  /** Where the page is that it serves; that of this package unless given. */
  readonly pageFolder?: string | undefined;
  /** Ends the start: at once where it waits for backends, else when the present step is over. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Starts a server: opens its stores, loads the application, answers.
 * @throws MillraceError `CONFIG_INVALID`, `KEYS_REQUIRED`, `APP_INVALID`, `DATABASE_IN_USE`, `SCHEMA_OUTDATED`,
 * `BACKEND_UNUSABLE`, `LISTEN_FAILED` and what the parts refuse to start with, the signal's reason; then nothing is left open.
 */
export async function startServer(config: ServerConfig, options: StartOptions): Promise<RunningServer> {
  const { signal } = options;
  signal?.throwIfAborted();
  const log = partLog(options.log);
  const keys = new ApiKeys(config.apiKeys);
  requireKeys(config, keys);
  // First of all: the rest takes seconds, and what it has opened and written by then was for nothing.
  await requireFreePort(config);
  const late = lateServices();
  const clock = systemClock;
  const given = resolveApp(await givenApp(config, options), late.services, config.app);
  const app = withDemo(given, { clock, rng: systemRng() }, config.app);
  const database = databaseOf(config, log.child({ part: 'database' }));
  const draining = new Draining(clock);
  const streams = new Streams(config.limits, clock);
  const parts: ServerParts = {
    config,
    app,
    database,
    operations: new PostgresOperationStore({ database, schema: config.schema, logger: log }),
    threads: app.processors.some(({ thread }) => thread) ? new ThreadPool() : undefined,
    draining,
    streams,
    metrics: new ServerMetrics({ draining, streams, version: VERSION, role: config.role }),
    clock,
    log,
    // A process may start several: each is an instance of its own.
    instanceId: `${processName()}/${systemRng()
      .integer(0, 2 ** 32 - 1)
      .toString(36)}`,
    version: VERSION,
    pageFolder: options.pageFolder ?? PAGE_FOLDER,
  };
  try {
    signal?.throwIfAborted();
    await awaitBackends({ ...parts, signal });
    signal?.throwIfAborted();
    await prepareTables(parts);
    signal?.throwIfAborted();
    const nest = await createNest(parts, keys, options.log);
    late.provide({
      bulk: nest.get(BulkActionService),
      pusher: nest.get(Pusher),
      orchestrator: nest.get(OrchestratorService),
    });
    await listen(nest, parts, signal);
    return running(nest, parts);
  } catch (error) {
    await closeParts(parts);
    throw error;
  }
}

async function givenApp(config: ServerConfig, { app }: StartOptions): Promise<AppParts | AppFactory> {
  if (app !== undefined) return appPartsOf(app);
  return config.app === undefined ? {} : loadApp(config.app);
}

/** An embedded database belongs to this process, so nobody else could migrate it. */
async function prepareTables({ database, config, log }: ServerParts): Promise<void> {
  if (database.kind !== 'pglite') return requireServerMigrated(database, config);
  const applied = await migrateServer(database, config);
  if (applied.length > 0) log.info({ applied }, 'The tables are up to date');
}

async function createNest(parts: ServerParts, keys: ApiKeys, log: Pino): Promise<NestFastifyApplication> {
  const { config } = parts;
  const environment = { ...parts, keys, isEmbedded: isEmbedded(config), limits: config.limits };
  const nest = await NestFactory.create<NestFastifyApplication>(
    ServerModule.register(parts),
    await createAdapter(environment),
    { logger: nestLog(log), abortOnError: false, bodyParser: false },
  );
  nest.useGlobalFilters(new ProblemFilter());
  return nest;
}

async function listen(
  nest: NestFastifyApplication,
  { config }: ServerParts,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    signal?.throwIfAborted();
    await nest.init();
    signal?.throwIfAborted();
    await nest.listen(config.port, config.host);
  } catch (error) {
    await nest.close().catch(() => {});
    throw listenError(error, config);
  }
}

async function running(nest: NestFastifyApplication, parts: ServerParts): Promise<RunningServer> {
  const { draining, streams, instanceId } = parts;
  let closed: Promise<void> | undefined;
  let closing: string | undefined;
  const close = async () => {
    draining.begin();
    streams.end();
    closing = 'work that does not end';
    await drainEngines(nest);
    closing = 'the HTTP server and the stores';
    await nest.close().finally(async () => {
      closing = 'threads and the database';
      await closeParts(parts);
    });
    closing = undefined;
  };
  return {
    url: await nest.getUrl(),
    instanceId,
    get closing() {
      return closing;
    },
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

async function closeParts({ streams, threads, database }: ServerParts): Promise<void> {
  streams.stop();
  // The engines have given their jobs back: a thread that is still busy works for nobody.
  await Promise.allSettled([threads?.shutdown({ wait: false })]);
  await Promise.allSettled([database.stop()]);
}
