import type { FactoryProvider } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import {
  BULK_ACTION_CONFIG,
  BulkActionModule,
  type BulkActionModuleOptions,
  BulkActionService,
  BulkProcessor,
  bulkActionToken,
  InjectBulkAction,
  type ResolvedBulkActionConfig,
  WorkerPoolService,
} from '../../src/nestjs/index.js';
import { boot, ended, feature, QUIET, recorder, refused, start } from './boot.js';

describe('bulk-action BA-17: options', () => {
  it('bulk-action BA-17: partial sections merge over the defaults; forRoot is register', async () => {
    const app = await boot({
      imports: [
        BulkActionModule.forRoot({
          ...QUIET,
          keepResults: true,
          backpressure: { globalRps: 5 },
          fairQueue: { priorityWeights: { high: 9 } },
        }),
      ],
    });
    const config: ResolvedBulkActionConfig = app.get(BULK_ACTION_CONFIG);
    expect(config).toMatchObject({
      keepResults: true,
      backpressure: { globalRps: 5, readyQueueMaxSize: 10_000 },
      fairQueue: { priorityWeights: { high: 9, normal: 4, low: 1 } },
      workerPool: { workerCount: 2, maxRetryCount: 3 },
    });
  });

  const settings: FactoryProvider = { provide: 'settings', useFactory: async () => ({ workerCount: 7 }) };
  class Settings {
    createBulkActionOptions(): BulkActionModuleOptions {
      return { ...QUIET, workerPool: { workerCount: 7 } };
    }
  }
  const imports = [
    feature('SettingsModule', { providers: [settings, Settings], exports: ['settings', Settings] }),
  ];

  it.each([
    [
      'useFactory',
      {
        imports,
        inject: ['settings'],
        useFactory: (workerPool: object) => ({ ...QUIET, workerPool }),
      },
    ],
    ['useClass', { useClass: Settings }],
    ['useExisting', { useExisting: Settings, imports }],
  ])(
    'bulk-action BA-17: registerAsync takes the options from %s; forRootAsync is the same',
    async (_, source) => {
      const app = await boot({ imports: [BulkActionModule.forRootAsync(source as never)] });
      expect(app.get(WorkerPoolService).getPoolStatus().workerCount).toBe(7);
    },
  );

  it('bulk-action BA-17: bad options are refused by name, at once or when they are known', async () => {
    const bad: [object, string, string][] = [
      [{ workerPool: { workerCount: -1 } }, 'OPTION_INVALID', 'workerPool.workerCount'],
      [{ workerpool: {} }, 'OPTION_UNKNOWN', "did you mean 'workerPool'?"],
      [{ processor: [] }, 'OPTION_UNKNOWN', "did you mean 'processors'?"],
      [{ processors: [class {}] }, 'OPTION_INVALID', 'classes go to registerProcessors'],
      [{ redis: 'redis://x' }, 'OPTION_INVALID', 'where Redis is'],
      [{ log: {} }, 'OPTION_INVALID', 'a Logger'],
      [{ name: '' }, 'OPTION_INVALID', 'name'],
    ];
    for (const [options, code, message] of bad)
      expect(() => BulkActionModule.register(options as never)).toThrow(refused(code, message));
    await expect(
      start({ imports: [BulkActionModule.registerAsync({ useFactory: () => ({ shards: 0 }) })] }),
    ).rejects.toThrow(refused('OPTION_INVALID', 'shards'));
    expect(() => BulkActionModule.registerAsync({})).toThrow(refused('OPTION_INVALID'));
    expect(() => BulkActionModule.registerAsync({ useClass: Settings, useFactory: () => ({}) })).toThrow(
      refused('OPTION_INVALID', 'exactly one'),
    );
  });

  it('bulk-action BA-17: a redis that is no address ends the start', async () => {
    const redis = { url: 'redis://127.0.0.1:1', host: '127.0.0.1' };
    await expect(start({ imports: [BulkActionModule.register({ ...QUIET, redis })] })).rejects.toThrow(
      refused('OPTION_INVALID', 'the only one of url, host, nodes and client'),
    );
  });

  it('bulk-action BA-17: enabled: false is a producer only: it hands in, and runs nothing', async () => {
    const Print = recorder('PRINT');
    const app = await boot({
      imports: [
        BulkActionModule.register({ ...QUIET, workerPool: { enabled: false } }),
        BulkActionModule.registerProcessors([Print]),
      ],
    });
    const service = app.get(BulkActionService);
    await service.submitBulk({ id: 'g' }, [{ processorType: 'PRINT' }]);
    expect(app.get(WorkerPoolService).getPoolStatus()).toMatchObject({
      workers: [],
      fetcherRunning: false,
      dispatcherRunning: false,
    });
    expect(await service.getProgress('g')).toMatchObject({ pending: 1 });
    expect(app.get(Print, { strict: false }).ran).toEqual([]);
  });
});

describe('bulk-action BA-17: several engines', () => {
  it('bulk-action BA-17: each has its own store, services and processors', async () => {
    const [Usual, Second] = [recorder('SAME'), recorder('SAME')];
    class Decorated extends recorder('DECORATED') {}
    BulkProcessor('DECORATED', { engine: 'second' })(Decorated);
    class Shop {
      constructor(
        readonly usual: BulkActionService,
        readonly second: BulkActionService,
      ) {}
    }
    InjectBulkAction(BulkActionService)(Shop, undefined, 0);
    InjectBulkAction(BulkActionService, 'second')(Shop, undefined, 1);
    const app = await boot({
      imports: [
        BulkActionModule.register(QUIET),
        BulkActionModule.registerAsync({
          name: 'second',
          useFactory: () => ({ ...QUIET, workerPool: { workerCount: 5 } }),
        }),
        BulkActionModule.registerProcessors([Usual]),
        BulkActionModule.registerProcessors([Second], { engine: 'second' }),
      ],
      providers: [Shop, Decorated],
    });
    const { usual, second } = app.get(Shop);
    expect(usual).toBe(app.get(BulkActionService));
    await usual.submitBulk({ id: 'g' }, [{ processorType: 'SAME', payload: 'usual' }]);
    await second.submitBulk({ id: 'g' }, [
      { processorType: 'SAME', payload: 'second' },
      { processorType: 'DECORATED', payload: 'second' },
    ]);
    await Promise.all([ended(usual, 'g'), ended(second, 'g')]);
    expect(app.get(Usual, { strict: false }).ran).toEqual(['usual']);
    expect(app.get(Second, { strict: false }).ran).toEqual(['second']);
    expect(app.get(Decorated).ran).toEqual(['second']);
    const pools = [WorkerPoolService, bulkActionToken(WorkerPoolService, 'second')];
    expect(pools.map((pool) => app.get<WorkerPoolService>(pool).getPoolStatus().workerCount)).toEqual([2, 5]);
  });

  it('bulk-action BA-17: two of one name, and a processor for one that is not there, end the start', async () => {
    await expect(
      start({ imports: [BulkActionModule.register(QUIET), BulkActionModule.register(QUIET)] }),
    ).rejects.toThrow(refused('OPTION_INVALID', 'register one engine once'));
    await expect(
      start({
        imports: [
          BulkActionModule.register(QUIET),
          BulkActionModule.registerProcessors([recorder('T')], { engine: 'scond' }),
        ],
      }),
    ).rejects.toThrow(refused('OPTION_INVALID', 'Recorder of Root'));
  });
});
