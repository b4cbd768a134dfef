import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { inline } from '@millrace/orchestrator';
import { OrchestratorModule } from '@millrace/orchestrator/nestjs';
import { migrateOrchestrator } from '@millrace/orchestrator/postgres';
import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { Controller, HttpCode, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { HOST, NOTHING_PATH, type StoreBrief } from './server-brief.js';

/** What a request asks for: how long it takes, and what tells its outcome from all others. */
interface Work {
  readonly ms: number;
  readonly n: number;
}

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

async function databaseOf(store: StoreBrief): Promise<'memory' | Database> {
  if (store.kind === 'memory') return 'memory';
  if (store.kind === 'pglite') return new PgliteDatabase({ dataDir: store.dataDir });
  const database = new PgDatabase({ url: store.url });
  await migrateOrchestrator(database);
  return database;
}

/**
 * Serves operations with one route whose work is a timer; beside it a NestJS route that does nothing.
 * @returns the port.
 */
export async function serveOperations(store: StoreBrief): Promise<number> {
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
