import { PgliteDatabase } from '@millrace/postgres';
import { latch, pgliteFolder, recordingLogger } from '@millrace/testkit';
import { type INestApplicationContext, Inject, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, it, onTestFinished } from 'vitest';
import { inline, MemoryOperationStore, type Orchestrator, RouteExecutor } from '../../src/index.js';
import {
  Operations,
  ORCHESTRATOR,
  OrchestratorModule,
  type OrchestratorModuleOptions,
  OrchestratorService,
} from '../../src/nestjs/index.js';
import { feature, QUIET, serve } from './boot.js';

class Root {}

const routes = { 'ORDER.PLACE': inline(() => 1) };
const COMMAND = { domain: 'ORDER', eventType: 'PLACE', bizKey: 'k' };

const start = (metadata: ModuleMetadata): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext({ module: Root, ...metadata }, { abortOnError: false, logger: false });

async function boot(metadata: ModuleMetadata): Promise<INestApplicationContext> {
  const app = await start(metadata);
  onTestFinished(() => app.close());
  return app;
}

it('orchestrator FR-1: each application has one orchestrator behind all injectables, with the specified defaults', async () => {
  const imports = [OrchestratorModule.forRoot({ ...QUIET, routes })];
  const app = await boot({ imports });
  const service = app.get(OrchestratorService);
  expect([app.get(ORCHESTRATOR), app.get(Operations)]).toEqual([service, service.operations]);
  expect(service.options).toMatchObject({
    timeBudget: { minMs: 50, maxMs: 5_000, defaultMs: 200 },
    pollingIntervalMs: 10,
    statusBasePath: '/api/operations',
  });
  expect(service.options.store).toBeInstanceOf(MemoryOperationStore);
  const handle = await app.get<Orchestrator>(ORCHESTRATOR).submit(COMMAND, 5_000);
  expect(handle).toMatchObject({ completedFast: true, responseBodyOrNull: { type: 'Ok', data: 1 } });
  expect((await boot({ imports })).get(OrchestratorService)).not.toBe(service);
});

it('orchestrator FR-1: uses an executor and a store of the application, and leaves no listener on them', async () => {
  const store = new MemoryOperationStore();
  const executor = new RouteExecutor({ routes });
  let listeners = 0;
  executor.onSettled = () => {
    listeners++;
    return () => listeners--;
  };
  const { tries: _, ...quiet } = QUIET;
  const module = OrchestratorModule.forRoot({ ...quiet, executor, store, controller: false });
  expect(listeners).toBe(0);
  const app = await start({ imports: [module] });
  expect(app.get(OrchestratorService).options).toMatchObject({ executor, store });
  expect(listeners).toBe(1);
  await app.close();
  expect(listeners).toBe(0);
});

it('orchestrator: forRootAsync takes the options from createOrchestratorOptions of a class, and the path beside it', async () => {
  class Settings {
    createOrchestratorOptions(): OrchestratorModuleOptions {
      return { ...QUIET, routes, leaseMs: 7_000 };
    }
  }
  const module = OrchestratorModule.forRootAsync({ useClass: Settings, path: '/v2/operations/' });
  const { options } = (await boot({ imports: [module] })).get(OrchestratorService);
  expect(options).toMatchObject({ leaseMs: 7_000, statusBasePath: '/v2/operations' });
});

it('orchestrator: refuses bad options by name', async () => {
  const executor = new RouteExecutor({ routes });
  const store = new MemoryOperationStore();
  const bad: [object, string, string][] = [
    [{}, 'OPTION_INVALID', 'routes must be given'],
    [{ routes, executor }, 'OPTION_INVALID', 'routes and executor'],
    [{ executor, tries: {} }, 'OPTION_INVALID', 'executor and tries'],
    [{ executor, backings: [] }, 'OPTION_INVALID', 'executor and backings'],
    [{ routes, store, database: 'memory' }, 'OPTION_INVALID', 'store and database'],
    [{ routes, store, schema: 's' }, 'OPTION_INVALID', 'store and schema'],
    [{ routes, database: 'postgres://h/d' }, 'OPTION_INVALID', "'memory' or a Database"],
    [{ routes, tenantOf: 'x' }, 'OPTION_INVALID', 'tenantOf must be a function'],
    [{ routes, eventStreamsMax: -1 }, 'OPTION_INVALID', 'eventStreamsMax'],
    [{ routes: { order: inline(() => 1) } }, 'ROUTE_INVALID', 'DOMAIN.EVENT_TYPE'],
    [{ routes, leaseMs: -1 }, 'OPTION_INVALID', 'leaseMs'],
    [{ routes, leaseMS: 1 }, 'OPTION_UNKNOWN', "did you mean 'leaseMs'?"],
    [{ routes, tries: { maxRetriess: 1 } }, 'OPTION_UNKNOWN', "did you mean 'maxRetries'?"],
    ...['', 'a b', '/a//b', ':id'].map((path): [object, string, string] => [
      { routes, path },
      'OPTION_INVALID',
      "a path such as 'api/operations'",
    ]),
    [{ routes, controller: 'no' }, 'OPTION_INVALID', 'true or false'],
  ];
  for (const [options, code, message] of bad) {
    const refused = expect.objectContaining({ code, message: expect.stringContaining(message) });
    expect(() => OrchestratorModule.forRoot(options as never)).toThrow(refused);
  }
  const twice = [OrchestratorModule.forRoot({ routes }), OrchestratorModule.forRoot({ routes })];
  await expect(start({ imports: twice })).rejects.toThrow('imported once');
});

it('orchestrator FR-5: serves at the path that is set, and nothing without a controller', async () => {
  const none = await serve({ routes, controller: false });
  expect((await none.post(COMMAND)).status).toBe(404);
  const moved = await serve({ routes, path: 'v2/operations' }, { path: '/v2/operations' });
  const answer = await moved.client.submit(COMMAND, { timeBudgetMs: 5_000 });
  expect(answer).toMatchObject({ status: 'COMPLETED' });
  expect((await moved.ask('/api/operations')).status).toBe(404);
});

it('orchestrator NFR-2: takes commands from bootstrap on, and drains their work before any other provider is destroyed', async () => {
  const events: string[] = [];
  const begun = latch('the work runs');
  const mayEnd = latch('the work may end');
  class Store {
    onModuleDestroy = () => void events.push('store gone');
  }
  class Work {
    opId = '';
    constructor(readonly orchestrator: Orchestrator) {}
    async onApplicationBootstrap(): Promise<void> {
      this.opId = (await this.orchestrator.submit(COMMAND, 50)).opId;
      events.push('submitted');
    }
  }
  Inject(ORCHESTRATOR)(Work, undefined, 0);
  const run = async () => {
    begun.open();
    await mayEnd.promise;
    events.push('work ends');
  };
  const app = await start({
    imports: [
      OrchestratorModule.forRoot({
        ...QUIET,
        gracePeriodMs: 10_000,
        routes: { 'ORDER.PLACE': inline(run) },
      }),
      feature('StoreModule', { providers: [Store] }),
    ],
    providers: [Work],
  });
  await begun.wait();
  const closing = app.close();
  mayEnd.open();
  await closing;
  expect(events).toEqual(['submitted', 'work ends', 'store gone']);
  expect(app.get(OrchestratorService).state).toBe('STOPPED');
  expect(await app.get(Operations).get(app.get(Work).opId)).toMatchObject({ state: 'COMPLETED' });
});

it('orchestrator NFR-2: leaves nothing that runs after a start that failed', async () => {
  const store = new MemoryOperationStore();
  store.start = async () => {
    throw new Error('no such store');
  };
  const seen = latch<OrchestratorService>('the orchestrator is made');
  const probe = {
    provide: 'probe',
    inject: [OrchestratorService],
    useFactory: (service: OrchestratorService) => seen.open(service),
  };
  const imports = [OrchestratorModule.forRoot({ ...QUIET, routes, store })];
  await expect(start({ imports, providers: [probe] })).rejects.toThrow('no such store');
  expect((await seen.wait()).state).toBe('STOPPED');
});

it('orchestrator NFR-2: makes the tables of an embedded database, leaves it open, and finds its operations at the next start', async () => {
  using folder = await pgliteFolder(async (dataDir) => {
    await using made = new PgliteDatabase({ dataDir });
    await made.start();
  });
  await using database = new PgliteDatabase({ dataDir: folder.dataDir });
  await database.start();
  const { log: logger, lines } = recordingLogger();
  const module = () =>
    OrchestratorModule.forRoot({ ...QUIET, logger, routes, database, schema: 'front door' });
  const first = await start({ imports: [module()] });
  const { opId } = await first.get(OrchestratorService).submit(COMMAND, 5_000);
  await first.close();
  expect(lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    expect.stringContaining('embedded database'),
  ]);
  const second = await boot({ imports: [module()] });
  expect(await second.get(Operations).waitForEnd(opId, 5_000)).toMatchObject({ state: 'COMPLETED' });
}, 60_000);
