import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { BulkActionService } from '@millrace/bulk-action/nestjs';
import { processName, systemClock } from '@millrace/foundation';
import { OrchestratorService, ProblemFilter } from '@millrace/orchestrator/nestjs';
import { PostgresOperationStore } from '@millrace/orchestrator/postgres';
import { Pusher } from '@millrace/outbox';
import { ThreadPool } from '@millrace/runtime';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger as Pino } from 'pino';
import { lateServices } from './compose/app-services.js';
import { loadApp, resolveApp } from './compose/load-app.js';
import { migrateServer, requireServerMigrated } from './compose/migrate.js';
import { databaseOf } from './compose/open-database.js';
import type { ServerParts } from './compose/parts.js';
import { isEmbedded, type ServerConfig } from './config/model.js';
import { type App, type AppFactory, type AppParts, partsOf } from './define-app.js';
import { createAdapter } from './http/create-adapter.js';
import { Draining } from './http/draining.js';
import { Streams } from './http/streams.js';
import { nestLog, partLog } from './log.js';
import { ApiKeys } from './security/api-keys.js';
import { requireKeys } from './security/require-keys.js';
import { ServerModule } from './server-module.js';

/** A server that answers. */
export interface RunningServer {
  /** Where it listens. */
  readonly url: string;
  readonly instanceId: string;
  /** Takes no more requests, lets work end within the grace period, gives the rest back, closes everything. */
  close(): Promise<void>;
}

/** What a server is started with besides its settings. */
export interface StartOptions {
  readonly log: Pino;
  /** Instead of the module that the settings name. */
  readonly app?: App | undefined;
}

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Starts a server: opens its stores, loads the application, answers.
 * @param config - all settings: see loadConfig.
 * @param options - the log, and an application that is there already.
 * @throws MillraceError `CONFIG_INVALID`, `KEYS_REQUIRED`, `APP_INVALID`, `DATABASE_IN_USE`, `SCHEMA_OUTDATED`,
 * `BACKEND_UNAVAILABLE` and what the parts refuse to start with; then nothing is left open.
 */
export async function startServer(config: ServerConfig, options: StartOptions): Promise<RunningServer> {
  const log = partLog(options.log);
  const keys = new ApiKeys(config.apiKeys);
  requireKeys(config, keys);
  const late = lateServices();
  const app = resolveApp(await givenApp(config, options), late.services, config.app);
  const database = databaseOf(config, log.child({ part: 'database' }));
  const clock = systemClock;
  const parts: ServerParts = {
    config,
    app,
    database,
    operations: new PostgresOperationStore({ database, schema: config.schema, logger: log }),
    threads: app.processors.some(({ thread }) => thread) ? new ThreadPool() : undefined,
    draining: new Draining(clock),
    streams: new Streams(config.limits, clock),
    clock,
    log,
    instanceId: processName(),
    version,
  };
  try {
    await prepareDatabase(parts);
    const nest = await createNest(parts, keys, options.log);
    late.provide({
      bulk: nest.get(BulkActionService),
      pusher: nest.get(Pusher),
      orchestrator: nest.get(OrchestratorService),
    });
    await listen(nest, parts);
    return running(nest, parts);
  } catch (error) {
    await closeParts(parts);
    throw error;
  }
}

async function givenApp(config: ServerConfig, { app }: StartOptions): Promise<AppParts | AppFactory> {
  if (app) return partsOf(app) ?? {};
  return config.app === undefined ? {} : loadApp(config.app);
}

/** An embedded database belongs to this process, so nobody else could migrate it. */
async function prepareDatabase({ database, config, log }: ServerParts): Promise<void> {
  await database.start();
  if (database.kind !== 'pglite') return requireServerMigrated(database, config);
  const applied = await migrateServer(database, config);
  if (applied.length > 0) log.info({ applied }, 'The tables are up to date');
}

async function createNest(parts: ServerParts, keys: ApiKeys, log: Pino): Promise<NestFastifyApplication> {
  const { config, draining, streams } = parts;
  const environment = { keys, isEmbedded: isEmbedded(config), draining, streams, limits: config.limits };
  const nest = await NestFactory.create<NestFastifyApplication>(
    ServerModule.register(parts),
    await createAdapter(environment),
    { logger: nestLog(log), abortOnError: false, bodyParser: false },
  );
  nest.useGlobalFilters(new ProblemFilter());
  return nest;
}

async function listen(nest: NestFastifyApplication, { config }: ServerParts): Promise<void> {
  try {
    await nest.init();
    await nest.listen(config.port, config.host);
  } catch (error) {
    await nest.close().catch(() => {});
    throw error;
  }
}

async function running(nest: NestFastifyApplication, parts: ServerParts): Promise<RunningServer> {
  const { draining, streams, instanceId } = parts;
  let closed: Promise<void> | undefined;
  const close = async () => {
    draining.begin();
    streams.end();
    // Drains the engines: whoever waits for an outcome is answered with its status URL.
    await nest.close();
    await closeParts(parts);
  };
  return {
    url: await nest.getUrl(),
    instanceId,
    close: () => {
      closed ??= close();
      return closed;
    },
  };
}

async function closeParts({ streams, threads, database }: ServerParts): Promise<void> {
  streams.stop();
  await Promise.allSettled([threads?.shutdown()]);
  await Promise.allSettled([database.stop()]);
}
