import { isRetryError, isTimeoutError } from '@millrace/async-utils';
import {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsConfig,
  type AsyncUtilsConfigFactory,
  AsyncUtilsModule,
  ConcurrencyLimit,
} from '@millrace/async-utils/nestjs';
import {
  type CanActivate,
  Controller,
  Get,
  Inject,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestMiddleware,
  type NestModule,
  Optional,
  Scope,
  UseGuards,
} from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { ModuleRef, ModulesContainer, NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { boot, rootModule } from './boot.js';
import { Counter } from './classes.js';
import {
  Bare,
  EarlyUser,
  Failing,
  Layered,
  noDelay,
  RequestFailing,
  recorder,
  TransientFailing,
  TransientUser,
} from './services.js';

const fast = (retries: number): AsyncUtilsConfig => ({ retry: { retries, backoff: noDelay } });

/** How many tries a call that always fails makes. */
async function triesOf(failing: Failing, method: 'work' | 'once' | 'undecided' = 'work'): Promise<number> {
  const error = await failing[method]().catch((thrown: unknown) => thrown);
  return isRetryError(error) ? error.attempts : Number.NaN;
}

describe('forRoot', () => {
  it('async-utils FR-016: decorators use the settings; their own options win', async () => {
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(fast(5))], providers: [Failing] });
    expect(await triesOf(app.get(Failing))).toBe(6);
    expect(await triesOf(app.get(Failing), 'once')).toBe(2);
    expect(await triesOf(app.get(Failing), 'undecided')).toBe(6);
  });

  it('async-utils FR-016: without settings the defaults of the library hold', async () => {
    const app = await boot({ imports: [AsyncUtilsModule.forRoot()], providers: [Failing, Layered] });
    expect(app.get(ASYNC_UTILS_CONFIG)).toEqual({});
    expect(await app.get(Layered).work(2)).toBe('done');
  });

  it('async-utils FR-016: bare decorators take time and number from the module', async () => {
    const config = { timeout: { ms: 10 }, limit: { concurrency: 1 } };
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Bare] });
    const error = await app
      .get(Bare)
      .hang()
      .catch((thrown: unknown) => thrown);
    expect(isTimeoutError(error) && error.ms).toBe(10);
    await app.get(Bare).limited();
  });

  it("async-utils FR-016: the module's fallback holds where a decorator has none; undefined is one", async () => {
    const config = { timeout: { ms: 10, fallback: 'usual' }, limit: { concurrency: 1 } };
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Bare] });
    expect(await app.get(Bare).hang()).toBe('usual');
    expect(await app.get(Bare).silent()).toBeUndefined();
  });

  it('async-utils FR-016: a bare decorator without a number anywhere ends the start', async () => {
    const start = (config: AsyncUtilsConfig) =>
      boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Bare] });
    await expect(start({ limit: { concurrency: 1 } })).rejects.toThrow(/@Timeout on Bare\.hang has no ms/);
    await expect(start({ timeout: { ms: 1 } })).rejects.toThrow(
      /@ConcurrencyLimit on Bare\.limited has no concurrency/,
    );
  });

  it('async-utils FR-016: two applications in one process do not share settings', async () => {
    const start = (retries: number) =>
      boot({ imports: [AsyncUtilsModule.forRoot(fast(retries))], providers: [Failing, RequestFailing] });
    const [one, two, none] = [await start(1), await start(6), await boot({ providers: [Layered] })];
    expect(await triesOf(one.get(Failing))).toBe(2);
    expect(await triesOf(two.get(Failing))).toBe(7);
    expect(await triesOf(await one.resolve(RequestFailing))).toBe(2);
    expect(await triesOf(await two.resolve(RequestFailing))).toBe(7);
    expect(await none.get(Layered).work(3)).toBe('done');
  });

  it.each([
    [{ retry: { retries: -1 } }, /^AsyncUtilsModule: retry: retries must be an integer ≥ 0, got -1$/],
    [{ timeout: { ms: Number.NaN } }, /^AsyncUtilsModule: timeout: ms must be .* ≥ 0, got NaN$/],
    [
      { limit: { concurrency: 0 } },
      /^AsyncUtilsModule: limit: concurrency must be an integer ≥ 1 or Infinity, got 0$/,
    ],
    [{ limit: 3 }, /^AsyncUtilsModule: limit: options must be an object, got 3$/],
    [{ onRetry: 'log' }, /^AsyncUtilsModule: onRetry must be a function, got 'log'$/],
    [{ retrys: {} }, /^AsyncUtilsModule: unknown option 'retrys', expected retry, timeout, limit, onRetry/],
    [{ toString: {} }, /^AsyncUtilsModule: unknown option 'toString'/],
    [null, /^AsyncUtilsModule: options must be an object, got null$/],
  ])('async-utils FR-016: bad settings are refused at once: %j', (config, message) => {
    expect(() => AsyncUtilsModule.forRoot(config as AsyncUtilsConfig)).toThrow(message);
  });

  it('async-utils FR-016: two configurations in one application end the start', async () => {
    const imports = [AsyncUtilsModule.forRoot(fast(1)), AsyncUtilsModule.forRoot(fast(2))];
    await expect(boot({ imports })).rejects.toThrow(/configured twice in one application, expected once/);
  });

  it('async-utils FR-016: the bare class beside the configured module is the same module', async () => {
    const imports = [AsyncUtilsModule.forRoot(fast(1)), AsyncUtilsModule];
    const app = await boot({ imports, providers: [Failing] });
    expect(await triesOf(app.get(Failing))).toBe(2);
  });
});

describe('instances', () => {
  it.each([
    ['a class', Failing],
    [
      'a slow factory',
      { provide: Failing, useFactory: () => new Promise((made) => setImmediate(() => made(new Failing()))) },
    ],
  ])(
    'async-utils FR-016: settings of %s hold before any onModuleInit, even of a global module imported first',
    async (_, provider) => {
      @Module({ providers: [EarlyUser, provider], exports: [Failing] })
      class First {}
      const app = await boot({
        imports: [{ module: First, global: true }, AsyncUtilsModule.forRoot(fast(1))],
      });
      expect(app.get(Failing).tries).toBe(2);
    },
  );

  it('async-utils FR-016: settings hold without init too, as in a testing module', async () => {
    const imports = [AsyncUtilsModule.forRootAsync({ useFactory: async () => fast(1) })];
    const root = rootModule({ imports, providers: [Failing, { provide: 'other', useClass: Failing }] });
    const app = await NestFactory.create(root, new FastifyAdapter(), { abortOnError: false, logger: false });
    expect(await triesOf(app.get(Failing))).toBe(2);
    expect(await triesOf(app.get('other'))).toBe(2);
    await app.close();
  });

  it('async-utils FR-016: middleware and guards have the settings', async () => {
    const tries: number[] = [];
    @Injectable()
    class FailingGuard extends Failing implements CanActivate {
      async canActivate(): Promise<boolean> {
        tries.push(await triesOf(this));
        return true;
      }
    }
    @Injectable()
    class FailingMiddleware extends Failing implements NestMiddleware {
      async use(_: unknown, __: unknown, next: () => void): Promise<void> {
        tries.push(await triesOf(this));
        next();
      }
    }
    @Controller()
    class Guarded {
      @Get()
      @UseGuards(FailingGuard)
      get(): string {
        return 'ok';
      }
    }
    @Module({ controllers: [Guarded] })
    class Feature implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(FailingMiddleware).forRoutes(Guarded);
      }
    }
    const app = await boot({ imports: [Feature, AsyncUtilsModule.forRoot(fast(1))] });
    expect((await app.inject('/')).payload).toBe('ok');
    expect(tries).toEqual([2, 2]);
  });

  it('async-utils FR-016: an optional dependency of a decorated provider stays optional, its class what it was', async () => {
    @Injectable()
    class Choosy extends Failing {
      constructor(@Optional() @Inject('nothing') readonly nothing?: object) {
        super();
      }
    }
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(fast(1))], providers: [Choosy] });
    expect(app.get(Choosy)).toBeInstanceOf(Choosy);
    expect(app.get(Choosy).constructor).toBe(Choosy);
    const wrappers = [...app.get(ModulesContainer).values()].flatMap((module) => [
      ...module.providers.values(),
    ]);
    expect(wrappers.find((wrapper) => wrapper.token === Choosy)?.metatype).toBe(Choosy);
  });

  it('async-utils FR-016: request-scoped controllers and providers have the settings of their application', async () => {
    @Controller('scoped')
    class ScopedController {
      constructor(@Inject(RequestFailing) private readonly failing: RequestFailing) {}

      @Get()
      async tries(): Promise<string> {
        return `${await triesOf(this.failing)} ${this.failing.constructor.name}`;
      }
    }
    const app = await boot({
      imports: [AsyncUtilsModule.forRoot(fast(4))],
      controllers: [ScopedController],
      providers: [RequestFailing],
    });
    expect((await app.inject('/scoped')).payload).toBe('5 RequestFailing');
  });

  it('async-utils FR-016: transient providers have them too, made at the start or later', async () => {
    const app = await boot({
      imports: [AsyncUtilsModule.forRoot(fast(4))],
      providers: [TransientFailing, TransientUser],
    });
    expect(await triesOf(app.get(TransientUser).own)).toBe(5);
    const later = await app.resolve(TransientFailing);
    expect(later).toBeInstanceOf(TransientFailing);
    expect(await triesOf(later)).toBe(5);
  });

  it('async-utils FR-016: values and factories have them; what the container does not list has the defaults', async () => {
    const app = await boot({
      imports: [AsyncUtilsModule.forRoot(fast(4))],
      providers: [
        { provide: 'value', useValue: new Failing() },
        { provide: 'factory', useFactory: () => new Failing() },
      ],
    });
    expect(await triesOf(app.get('value'))).toBe(5);
    expect(await triesOf(app.get('factory'))).toBe(5);
    const unknown = await app.get(ModuleRef).create(Failing);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const tries = triesOf(unknown);
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    expect(await tries).toBe(4);
  });
});

describe('shared limits', () => {
  const counter = new Counter();

  @ConcurrencyLimit(1)
  class Counted {
    async work(): Promise<void> {
      await counter.run();
    }

    @ConcurrencyLimit(1)
    async other(): Promise<void> {
      await counter.run();
    }
  }
  @Injectable({ scope: Scope.REQUEST })
  class PerRequest extends Counted {}
  @Injectable({ scope: Scope.TRANSIENT })
  class PerUse extends Counted {}
  @Injectable()
  class User {
    constructor(@Inject(PerUse) readonly own: PerUse) {}
  }
  /** Scoped by what it needs: Nest makes one for each request. */
  @Controller()
  class Dependent extends Counted {
    constructor(@Inject(PerRequest) readonly needed: PerRequest) {
      super();
    }

    @Get()
    get(): Promise<void> {
      return this.work();
    }
  }

  const start = () =>
    boot({
      imports: [AsyncUtilsModule.forRoot()],
      controllers: [Dependent],
      providers: [PerRequest, PerUse, User, Counted, { provide: 'second', useClass: Counted }],
    });
  const mostOf = (instances: Counted[]) => {
    counter.most = 0;
    return counter.mostOf(instances.flatMap((each) => [each.work(), each.work()]));
  };

  it('async-utils FR-015: request-scoped providers share one limit per class and application', async () => {
    const [one, two] = [await start(), await start()];
    const make = async (app: typeof one) => [await app.resolve(PerRequest), await app.resolve(PerRequest)];
    expect(await mostOf(await make(one))).toBe(1);
    expect(await mostOf([...(await make(one)), ...(await make(two))])).toBe(2);
    expect(await mostOf([await one.resolve(PerRequest), await one.resolve(PerUse)])).toBe(2);
    const [first, second] = (await make(one)) as [PerRequest, PerRequest];
    counter.most = 0;
    expect(await counter.mostOf([first.work(), first.other(), second.work(), second.other()])).toBe(2);
  });

  it('async-utils FR-015: so do transient providers, made at the start or later', async () => {
    const app = await start();
    const instances = [app.get(User).own, await app.resolve(PerUse), await app.resolve(PerUse)];
    expect(new Set(instances).size).toBe(3);
    expect(await mostOf(instances)).toBe(1);
  });

  it('async-utils FR-015: so does a controller that is scoped by what it needs', async () => {
    const app = await start();
    counter.most = 0;
    await counter.mostOf([1, 2, 3].map(() => app.inject('/')));
    expect(counter.most).toBe(1);
  });

  it('async-utils FR-015: singletons of one class keep a limit each', async () => {
    const app = await start();
    expect(await mostOf([app.get(Counted), app.get('second')])).toBe(2);
  });
});

describe('forRootAsync', () => {
  @Injectable()
  class Settings implements AsyncUtilsConfigFactory {
    async createAsyncUtilsConfig(): Promise<AsyncUtilsConfig> {
      return fast(2);
    }
  }

  it('async-utils FR-017: useFactory, with what it injects', async () => {
    @Module({ providers: [{ provide: 'retries', useValue: 7 }], exports: ['retries'] })
    class Source {}
    const imported = AsyncUtilsModule.forRootAsync({
      imports: [Source],
      inject: ['retries'],
      useFactory: async (retries: number) => fast(retries),
    });
    const app = await boot({ imports: [imported], providers: [Failing] });
    expect(await triesOf(app.get(Failing))).toBe(8);
  });

  it('async-utils FR-017: useClass', async () => {
    const app = await boot({
      imports: [AsyncUtilsModule.forRootAsync({ useClass: Settings })],
      providers: [Failing],
    });
    expect(await triesOf(app.get(Failing))).toBe(3);
  });

  it('async-utils FR-017: useExisting takes the instance that is there', async () => {
    const made: Settings[] = [];
    @Module({
      providers: [{ provide: Settings, useFactory: () => made[made.push(new Settings()) - 1] }],
      exports: [Settings],
    })
    class Source {}
    const app = await boot({
      imports: [AsyncUtilsModule.forRootAsync({ imports: [Source], useExisting: Settings })],
      providers: [Failing],
    });
    expect(await triesOf(app.get(Failing))).toBe(3);
    expect(made).toHaveLength(1);
  });

  it('async-utils FR-017: bad settings end the start with a message', async () => {
    const start = (config: unknown) =>
      boot({
        imports: [AsyncUtilsModule.forRootAsync({ useFactory: () => config as AsyncUtilsConfig })],
      });
    await expect(start({ retry: { retries: '3' } })).rejects.toThrow(
      /^AsyncUtilsModule: retry: retries must be an integer ≥ 0, got '3'$/,
    );
    await expect(start(undefined)).rejects.toThrow(
      /^AsyncUtilsModule: options must be an object, got undefined$/,
    );
  });

  it('async-utils FR-017: exactly one source of settings', () => {
    const message = /expected exactly one of useFactory, useClass and useExisting/;
    expect(() => AsyncUtilsModule.forRootAsync({})).toThrow(message);
    expect(() => AsyncUtilsModule.forRootAsync({ useClass: Settings, useExisting: Settings })).toThrow(
      message,
    );
  });

  describe('with @nestjs/config', () => {
    afterEach(() => void vi.unstubAllEnvs());

    it('async-utils FR-020: the environment reaches the decorators through ConfigService', async () => {
      vi.stubEnv('TEST_RETRIES', '4');
      const imported = AsyncUtilsModule.forRootAsync({
        imports: [ConfigModule.forRoot({ ignoreEnvFile: true })],
        inject: [ConfigService],
        useFactory: (config: ConfigService) => fast(Number(config.getOrThrow('TEST_RETRIES'))),
      });
      const app = await boot({ imports: [imported], providers: [Failing] });
      expect(await triesOf(app.get(Failing))).toBe(5);
    });

    it('async-utils FR-020: a variable that is no number ends the start', async () => {
      vi.stubEnv('TEST_RETRIES', 'many');
      const imported = AsyncUtilsModule.forRootAsync({
        imports: [ConfigModule.forRoot({ ignoreEnvFile: true })],
        inject: [ConfigService],
        useFactory: (config: ConfigService) => fast(Number(config.getOrThrow('TEST_RETRIES'))),
      });
      await expect(boot({ imports: [imported] })).rejects.toThrow(/retries must be an integer ≥ 0, got NaN/);
    });
  });
});

describe('hooks of the module', () => {
  const site = { className: 'Layered', methodName: 'work' };

  it('async-utils FR-025: onRetry per retry and onTimeout per try, with class and method', async () => {
    const { config, events } = recorder();
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Layered] });
    await app.get(Layered).work(3);
    expect(events.slice(0, 3)).toEqual([
      ['timeout', { ms: 10, ...site }],
      ['retry', { attempt: 1, delayMs: 0, error: expect.objectContaining({ code: 'TIMEOUT' }), ...site }],
      ['retry', { attempt: 2, delayMs: 0, error: expect.objectContaining({ message: 'try 2' }), ...site }],
    ]);
  });

  it('async-utils FR-026: onSuccess and onError once per call, however many layers there are', async () => {
    const { config, events } = recorder();
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Layered] });
    await app.get(Layered).work(3);
    await app
      .get(Layered)
      .work(99)
      .catch(() => {});
    const ends = events.filter(([name]) => name === 'success' || name === 'error');
    expect(ends).toEqual([
      ['success', { attempts: 3, durationMs: expect.any(Number), ...site }],
      [
        'error',
        {
          attempts: 3,
          durationMs: expect.any(Number),
          error: expect.objectContaining({ code: 'RETRY_EXHAUSTED' }),
          ...site,
        },
      ],
    ]);
  });

  it('async-utils FR-026: hooks that throw or reject change nothing', async () => {
    const bad = () => {
      throw new Error('hook');
    };
    const worse = async () => bad();
    const config = { onRetry: bad, onTimeout: worse, onSuccess: bad, onError: worse };
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Layered] });
    expect(await app.get(Layered).work(3)).toBe('done');
    await expect(app.get(Layered).work(99)).rejects.toMatchObject({ code: 'RETRY_EXHAUSTED' });
  });
});
