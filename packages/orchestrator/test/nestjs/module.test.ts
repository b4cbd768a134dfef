import { PgliteDatabase } from '@millrace/postgres';
import { latch, pgliteFolder, recordingLogger } from '@millrace/testkit';
import { type INestApplicationContext, Inject, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, onTestFinished } from 'vitest';
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

describe('orchestrator: options of the module', () => {
  it('orchestrator FR-1: one orchestrator is behind all injectables, with the defaults of the specification', async () => {
    const app = await boot({ imports: [OrchestratorModule.forRoot({ ...QUIET, routes })] });
    const service = app.get(OrchestratorService);
    expect(app.get(ORCHESTRATOR)).toBe(service);
    expect(app.get(Operations)).toBe(service.operations);
    expect(service.options).toMatchObject({
      timeBudget: { minMs: 50, maxMs: 5_000, defaultMs: 200 },
      pollingIntervalMs: 10,
      statusBasePath: '/api/operations',
    });
    expect(service.options.store).toBeInstanceOf(MemoryOperationStore);
    expect(service.state).toBe('RUNNING');
    const handle = await app.get<Orchestrator>(ORCHESTRATOR).submit(COMMAND, 5_000);
    expect(handle).toMatchObject({ completedFast: true, responseBodyOrNull: { type: 'Ok', data: 1 } });
  });

  it('orchestrator FR-1: every application that uses a module has its own orchestrator', async () => {
    const imports = [OrchestratorModule.register({ ...QUIET, routes })];
    const [one, other] = [await boot({ imports }), await boot({ imports })];
    expect(one.get(OrchestratorService)).not.toBe(other.get(OrchestratorService));
  });

  it('orchestrator FR-1: an executor of your own instead of routes, a store of your own instead of a database', async () => {
    const executor = new RouteExecutor({ routes });
    const store = new MemoryOperationStore();
    const { tries: _, ...quiet } = QUIET;
    const app = await boot({
      imports: [OrchestratorModule.forRoot({ ...quiet, executor, store, controller: false })],
    });
    expect(app.get(OrchestratorService).options).toMatchObject({ executor, store });
    expect((await app.get<Orchestrator>(ORCHESTRATOR).submit(COMMAND, 5_000)).completedFast).toBe(true);
  });

  it('orchestrator NFR-2: options that are only checked leave no listener behind', async () => {
    const executor = new RouteExecutor({ routes });
    let listeners = 0;
    executor.onSettled = () => {
      listeners++;
      return () => listeners--;
    };
    const { tries: _, ...quiet } = QUIET;
    const module = OrchestratorModule.forRoot({ ...quiet, executor });
    expect(listeners).toBe(0);
    const app = await start({ imports: [module] });
    expect(listeners).toBe(1);
    await app.close();
    expect(listeners).toBe(0);
  });

  const settings = { provide: 'settings', useFactory: async () => ({ leaseMs: 7_000 }) };
  class Settings {
    createOrchestratorOptions(): OrchestratorModuleOptions {
      return { ...QUIET, routes, leaseMs: 7_000 };
    }
  }
  const imports = [
    feature('SettingsModule', { providers: [settings, Settings], exports: ['settings', Settings] }),
  ];
  it.each([
    [
      'useFactory',
      { imports, inject: ['settings'], useFactory: (given: object) => ({ ...QUIET, routes, ...given }) },
    ],
    ['useClass', { useClass: Settings }],
    ['useExisting', { useExisting: Settings, imports }],
  ])('orchestrator: forRootAsync takes the options from %s; registerAsync is the same', async (_, source) => {
    for (const module of [
      OrchestratorModule.forRootAsync(source as never),
      OrchestratorModule.registerAsync(source as never),
    ])
      expect((await boot({ imports: [module] })).get(OrchestratorService).options.leaseMs).toBe(7_000);
  });

  it('orchestrator: bad options are refused by name, at once or when they are known', async () => {
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
    ];
    for (const [options, code, message] of bad) {
      const refused = expect.objectContaining({ code, message: expect.stringContaining(message) });
      expect(() => OrchestratorModule.forRoot(options as never)).toThrow(refused);
      const later = OrchestratorModule.forRootAsync({ useFactory: () => options as never });
      await expect(start({ imports: [later] })).rejects.toThrow(refused);
    }
    for (const shape of [
      { path: '' },
      { path: 'a b' },
      { path: '/a//b' },
      { path: ':id' },
      { controller: 'no' },
    ])
      expect(() => OrchestratorModule.forRoot({ routes, ...shape } as never)).toThrow(
        /OrchestratorModule: (path|controller)/,
      );
    expect(() => OrchestratorModule.forRootAsync({})).toThrow('exactly one of useFactory');
    const twice = [OrchestratorModule.forRoot({ routes }), OrchestratorModule.forRoot({ routes })];
    await expect(start({ imports: twice })).rejects.toThrow('imported once');
  });

  it('orchestrator FR-5: controller: false serves nothing; another path is where it says', async () => {
    const none = await serve({ routes, controller: false });
    expect((await none.post(COMMAND)).status).toBe(404);
    const moved = await serve({ routes, path: 'v2/operations' }, { path: '/v2/operations' });
    expect(await moved.client.submit(COMMAND, { timeBudgetMs: 5_000 })).toMatchObject({
      status: 'COMPLETED',
    });
    expect((await moved.ask('/api/operations')).status).toBe(404);
  });
});

describe('orchestrator: life and end of an application', () => {
  it('orchestrator NFR-2: commands are taken from bootstrap on, and their work ends before anything else is destroyed', async () => {
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

  it('orchestrator NFR-2: a start that fails leaves nothing that runs', async () => {
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
});

describe('orchestrator: a database instead of memory', () => {
  it('orchestrator NFR-2: the tables of an embedded one are made at the start; its owner stops it; what was accepted is there for the next', async () => {
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
});
