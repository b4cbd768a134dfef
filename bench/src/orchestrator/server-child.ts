/*
 * A process of its own: an application that serves operations, or a bare Fastify beside which it is measured. It says where it listens, what it
 * has used when asked, and ends with whoever started it.
 */

import 'reflect-metadata';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { inline } from '@millrace/orchestrator';
import { OrchestratorModule } from '@millrace/orchestrator/nestjs';
import { migrateOrchestrator } from '@millrace/orchestrator/postgres';
import { PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { Controller, HttpCode, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  NOTHING_PATH,
  OPERATIONS_PATH,
  type ServerBrief,
  type ServerUsage,
  type StoreBrief,
} from './server-brief.js';

interface Work {
  readonly ms: number;
  readonly n: number;
}

/** A bare Fastify, as far as it is used here. */
interface BareFastify {
  post(path: string, handler: () => Promise<object>): void;
  listen(at: { port: number; host: string }): Promise<string>;
  readonly server: { address(): AddressInfo };
}

const HOST = '127.0.0.1';

class Root {}

class NothingController {
  nothing(): object {
    return {};
  }
}
// By hand: the benchmarks compile without decorators.
const method = Object.getOwnPropertyDescriptor(NothingController.prototype, 'nothing') as PropertyDescriptor;
Controller(NOTHING_PATH)(NothingController);
Post()(NothingController.prototype, 'nothing', method);
HttpCode(200)(NothingController.prototype, 'nothing', method);

const routes = {
  'BENCH.WORK': inline(async ({ payload }) => {
    const { ms, n } = payload as Work;
    if (ms > 0) await delay(ms);
    return { n };
  }),
};

async function databaseOf(store: StoreBrief): Promise<'memory' | PgDatabase | PgliteDatabase> {
  if (store.kind === 'memory') return 'memory';
  if (store.kind === 'pglite') return new PgliteDatabase({ dataDir: store.dataDir });
  const database = new PgDatabase({ url: store.url });
  await migrateOrchestrator(database);
  return database;
}

async function serveOperations(store: StoreBrief): Promise<number> {
  const database = await databaseOf(store);
  const app = await NestFactory.create<NestFastifyApplication>(
    {
      module: Root,
      imports: [OrchestratorModule.forRoot({ routes, database })],
      controllers: [NothingController],
    },
    new FastifyAdapter({ forceCloseConnections: true }),
    { logger: ['error'], abortOnError: false },
  );
  await app.listen(0, HOST);
  return (app.getHttpServer().address() as AddressInfo).port;
}

/** The very Fastify that is below the orchestrator, without the hooks of the adapter. */
async function serveNothing(): Promise<number> {
  const below = createRequire(createRequire(import.meta.url).resolve('@nestjs/platform-fastify'));
  const app = (below('fastify') as () => BareFastify)();
  app.post(OPERATIONS_PATH, async () => ({}));
  await app.listen({ port: 0, host: HOST });
  return app.server.address().port;
}

function usage(): ServerUsage {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return { cpuMs: (userCPUTime + systemCPUTime) / 1000, peakRssMb: maxRSS / 1024 };
}

const brief = JSON.parse(process.argv[2] ?? '{}') as ServerBrief;
process.once('disconnect', () => process.exit(0));
process.on('message', () => process.send?.(usage()));
process.send?.({ port: await (brief.serves === 'nothing' ? serveNothing() : serveOperations(brief.store)) });
