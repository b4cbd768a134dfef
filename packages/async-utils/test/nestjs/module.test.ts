import { isRetryError } from '@millrace/async-utils';
import {
  type AsyncUtilsAsyncOptions,
  type AsyncUtilsConfig,
  type AsyncUtilsConfigFactory,
  AsyncUtilsModule,
  ConcurrencyLimit,
  Retryable,
  RetryInterceptor,
  Timeout,
  TimeoutInterceptor,
} from '@millrace/async-utils/nestjs';
import {
  type CanActivate,
  Controller,
  Get,
  Inject,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnModuleInit,
  Optional,
  Scope,
  UseGuards,
} from '@nestjs/common';
import { ConfigModule, ConfigService } from '@nestjs/config';
import { ModuleRef, ModulesContainer } from '@nestjs/core';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { outcomeAfter } from '../leftovers.js';
import { boot, create, recorder } from './boot.js';

const backoff = () => 0;
const never = () => new Promise<never>(() => {});
const settings = (retries: number): AsyncUtilsConfig => ({ retry: { retries, backoff } });
const withRetries = (retries: number) => AsyncUtilsModule.forRoot(settings(retries));

/** Always fails. The number of attempts tells whose settings hold. */
@Injectable()
class Failing {
  attempts = 0;

  @Retryable()
  async work(): Promise<void> {
    this.attempts++;
    throw new Error('always');
  }

  @Retryable({ retries: 1 })
  async once(): Promise<void> {
    await this.work();
  }

  @Retryable({ retries: undefined })
  async undecided(): Promise<void> {
    throw new Error('always');
  }
}

@Injectable({ scope: Scope.REQUEST })
class PerRequest extends Failing {}

@Injectable({ scope: Scope.TRANSIENT })
class PerUse extends Failing {}

async function attemptsOf(failing: Failing, method: 'work' | 'once' | 'undecided' = 'work') {
  const error = await failing[method]().catch((thrown: unknown) => thrown);
  return isRetryError(error) ? error.attempts : error;
}

@Injectable()
class Bare {
  @Timeout()
  async hang(): Promise<unknown> {
    return never();
  }

  @Timeout({ fallback: undefined })
  async silent(): Promise<unknown> {
    return never();
  }

  @ConcurrencyLimit()
  async limited(): Promise<string> {
    return 'done';
  }
}

/** All layers: hangs in its first attempt, then fails until the attempt of this number. */
@Injectable()
class Layered {
  attempts = 0;

  @ConcurrencyLimit(1)
  @Retryable({ retries: 2, backoff })
  @Timeout(10)
  async work(successAt: number): Promise<string> {
    this.attempts++;
    if (this.attempts === 1) return never();
    if (this.attempts < successAt) throw new Error(`attempt ${this.attempts}`);
    return 'done';
  }
}

describe('forRoot', () => {
  it("async-utils FR-016: a decorator's own options win over the settings, undefined is no option", async () => {
    const failing = (await boot({ imports: [withRetries(5)], providers: [Failing] })).get(Failing);
    expect(await attemptsOf(failing)).toBe(6);
    expect(await attemptsOf(failing, 'once')).toBe(2);
    expect(await attemptsOf(failing, 'undecided')).toBe(6);
  });

  it('async-utils FR-016: bare decorators take time, number and fallback from the module', async () => {
    const start = async (timeout: AsyncUtilsConfig['timeout']) => {
      const imports = [AsyncUtilsModule.forRoot({ timeout, limit: { concurrency: 1 } })];
      return (await boot({ imports, providers: [Bare] })).get(Bare);
    };
    const failing = await start({ ms: 10 });
    await expect(failing.hang()).rejects.toMatchObject({ code: 'TIMEOUT', ms: 10 });
    expect(await failing.limited()).toBe('done');
    const fallingBack = await start({ ms: 10, fallback: 'usual' });
    expect([await fallingBack.hang(), await fallingBack.silent()]).toEqual(['usual', undefined]);
  });

  it.each([
    [{ limit: { concurrency: 1 } }, /@Timeout on Bare\.hang has no ms/],
    [
      { timeout: { ms: 1 } },
      /@ConcurrencyLimit on Bare\.limited has no concurrency: write @ConcurrencyLimit\(concurrency\), or import/,
    ],
  ])('async-utils FR-016: with %j a bare decorator ends the start', async (config, message) => {
    const start = boot({ imports: [AsyncUtilsModule.forRoot(config)], providers: [Bare] });
    await expect(start).rejects.toThrow(message);
  });

  it('async-utils FR-016: two applications in one process do not share settings', async () => {
    const start = (retries: number) =>
      boot({ imports: [withRetries(retries)], providers: [Failing, PerRequest] });
    for (const [app, attempts] of [[await start(1), 2] as const, [await start(6), 7] as const]) {
      expect(await attemptsOf(app.get(Failing))).toBe(attempts);
      expect(await attemptsOf(await app.resolve(PerRequest))).toBe(attempts);
    }
    const without = await boot({ providers: [Layered] });
    expect(await without.get(Layered).work(3)).toBe('done');
  });

  it('async-utils FR-016: two configurations in one application end the start', async () => {
    const imports = [withRetries(1), withRetries(2)];
    await expect(boot({ imports })).rejects.toThrow(/configured twice in one application, expected once/);
  });

  it('async-utils FR-016: the bare class beside the configured module is the same module', async () => {
    const app = await boot({ imports: [withRetries(1), AsyncUtilsModule], providers: [Failing] });
    expect(await attemptsOf(app.get(Failing))).toBe(2);
  });
});

describe('invalid options', () => {
  const any = <T>(value: unknown) => value as T;
  const module = (config: unknown) => () => AsyncUtilsModule.forRoot(any(config));
  it.each<[fault: string, define: () => unknown]>([
    ['AsyncUtilsModule: retry: retries must be an integer ≥ 0, got -1', module({ retry: { retries: -1 } })],
    ['AsyncUtilsModule: timeout: ms must be', module({ timeout: { ms: Number.NaN } })],
    ['AsyncUtilsModule: limit: concurrency must be', module({ limit: { concurrency: 0 } })],
    ['AsyncUtilsModule: limit: options must be an object, got 3', module({ limit: 3 })],
    ["AsyncUtilsModule: onRetry must be a function, got 'log'", module({ onRetry: 'log' })],
    ["AsyncUtilsModule: unknown option 'retrys', expected retry, timeout, limit", module({ retrys: {} })],
    ["AsyncUtilsModule: unknown option 'toString'", module({ toString: {} })],
    ['AsyncUtilsModule: options must be an object, got null', module(null)],
    ["@Retryable: backoff must be 'exponential', 'linear'", () => Retryable({ backoff: any('cubic') })],
    ["@Retryable: unknown option 'retires', expected retries", () => Retryable(any({ retires: 1 }))],
    ['@Retryable: signal must be an AbortSignal', () => Retryable({ signal: any(new AbortController()) })],
    ['@Timeout: ms must be a number of milliseconds ≥ 0, got -1', () => Timeout(-1)],
    ['@Timeout: error must be a function', () => Timeout({ ms: 1, error: any('x') })],
    ['@ConcurrencyLimit: concurrency must be an integer ≥ 1', () => ConcurrencyLimit(0)],
    ['@ConcurrencyLimit: priority must be an integer from 0', () => ConcurrencyLimit({ priority: 11 })],
    ['@ConcurrencyLimit: holdSlot must be a boolean', () => ConcurrencyLimit({ holdSlot: any('yes') })],
    ['RetryInterceptor: retries must be an integer ≥ 0', () => new RetryInterceptor({ retries: 0.5 })],
    ['TimeoutInterceptor: ms must be', () => new TimeoutInterceptor(-1)],
  ])(
    'async-utils FR-013, async-utils FR-014, async-utils FR-015, async-utils FR-016: %s',
    (fault, define) => {
      expect(define).toThrow(fault);
    },
  );
});

describe('instances', () => {
  it.each([
    ['a class', Failing],
    [
      'a slow factory',
      { provide: Failing, useFactory: () => new Promise((made) => setImmediate(() => made(new Failing()))) },
    ],
  ])('async-utils FR-016: settings of %s hold before any onModuleInit', async (_, provider) => {
    @Injectable()
    class EarlyUser implements OnModuleInit {
      constructor(@Inject(Failing) private readonly failing: Failing) {}

      async onModuleInit(): Promise<void> {
        await this.failing.work().catch(() => {});
      }
    }
    @Module({ providers: [EarlyUser, provider], exports: [Failing] })
    class First {}
    const app = await boot({ imports: [{ module: First, global: true }, withRetries(1)] });
    expect(app.get(Failing).attempts).toBe(2);
  });

  it('async-utils FR-016: settings hold without init, as in a testing module', async () => {
    const imports = [AsyncUtilsModule.forRootAsync({ useFactory: async () => settings(1) })];
    const app = await create({ imports, providers: [Failing, { provide: 'other', useClass: Failing }] });
    expect([await attemptsOf(app.get(Failing)), await attemptsOf(app.get('other'))]).toEqual([2, 2]);
  });

  it('async-utils FR-016: a decorated class stays what it was, with its optional dependencies', async () => {
    @Injectable()
    class Choosy extends Failing {
      constructor(@Optional() @Inject('nothing') readonly nothing?: object) {
        super();
      }
    }
    const app = await boot({ imports: [withRetries(1)], providers: [Choosy] });
    expect(app.get(Choosy).constructor).toBe(Choosy);
    const wrappers = [...app.get(ModulesContainer).values()].flatMap(({ providers }) => [
      ...providers.values(),
    ]);
    expect(wrappers.find(({ token }) => token === Choosy)?.metatype).toBe(Choosy);
  });

  it('async-utils FR-016: every instance that Nest records has the settings', async () => {
    const seen: Record<string, unknown> = {};
    @Injectable()
    class FailingGuard extends Failing implements CanActivate {
      async canActivate(): Promise<boolean> {
        seen.guard = await attemptsOf(this);
        return true;
      }
    }
    @Injectable()
    class FailingMiddleware extends Failing {
      async use(_: unknown, __: unknown, next: () => void): Promise<void> {
        seen.middleware = await attemptsOf(this);
        next();
      }
    }
    @Injectable()
    class User {
      constructor(@Inject(PerUse) readonly own: PerUse) {}
    }
    @Controller()
    class Scoped {
      constructor(@Inject(PerRequest) private readonly failing: PerRequest) {}

      @Get()
      @UseGuards(FailingGuard)
      async get(): Promise<void> {
        seen[this.failing.constructor.name] = await attemptsOf(this.failing);
      }
    }
    const factory = { provide: 'factory', useFactory: () => new Failing() };
    const value = { provide: 'value', useValue: new Failing() };
    @Module({ controllers: [Scoped], providers: [PerRequest, PerUse, User, factory, value] })
    class Feature implements NestModule {
      configure(consumer: MiddlewareConsumer): void {
        consumer.apply(FailingMiddleware).forRoutes(Scoped);
      }
    }
    const app = await boot({ imports: [Feature, withRetries(1)] });
    await app.inject('/');
    for (const token of ['factory', 'value']) seen[token] = await attemptsOf(app.get(token));
    seen.transient = await attemptsOf(app.get(User).own);
    seen.later = await attemptsOf(await app.resolve(PerUse));
    const names = ['middleware', 'guard', 'PerRequest', 'factory', 'value', 'transient', 'later'];
    expect(seen).toEqual(Object.fromEntries(names.map((name) => [name, 2])));
  });

  it('async-utils FR-016: instances that Nest does not record have the defaults', async () => {
    const app = await boot({ imports: [withRetries(1)] });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { value } = await outcomeAfter(attemptsOf(await app.get(ModuleRef).create(Failing)));
    vi.useRealTimers();
    expect(value).toBe(4);
  });
});

describe('forRootAsync', () => {
  @Injectable()
  class Settings implements AsyncUtilsConfigFactory {
    static made = 0;

    constructor() {
      Settings.made++;
    }

    async createAsyncUtilsConfig(): Promise<AsyncUtilsConfig> {
      return settings(7);
    }
  }
  @Module({ providers: [{ provide: 'retries', useValue: 7 }, Settings], exports: ['retries', Settings] })
  class Source {}
  const start = (options: AsyncUtilsAsyncOptions) =>
    boot({ imports: [AsyncUtilsModule.forRootAsync(options)], providers: [Failing] });

  it.each<[string, AsyncUtilsAsyncOptions]>([
    ['useFactory', { imports: [Source], inject: ['retries'], useFactory: async (n) => settings(n) }],
    ['useClass', { useClass: Settings }],
    ['useExisting', { imports: [Source], useExisting: Settings }],
  ])('async-utils FR-017: takes the settings of %s', async (_, options) => {
    Settings.made = 0;
    const app = await start(options);
    expect(await attemptsOf(app.get(Failing))).toBe(8);
    expect(Settings.made).toBe(1);
  });

  it.each([
    [{ retry: { retries: '3' } }, "AsyncUtilsModule: retry: retries must be an integer ≥ 0, got '3'"],
    [undefined, 'AsyncUtilsModule: options must be an object, got undefined'],
  ])('async-utils FR-017: %j ends the start', async (config, message) => {
    await expect(start({ useFactory: () => config as unknown as AsyncUtilsConfig })).rejects.toThrow(message);
  });

  it.each([{}, { useClass: Settings, useExisting: Settings }])(
    'async-utils FR-017: refuses %j: not exactly one source',
    (options) => {
      const message = 'expected exactly one of useFactory, useClass and useExisting';
      expect(() => AsyncUtilsModule.forRootAsync(options)).toThrow(message);
    },
  );

  it('async-utils FR-020: the environment reaches the decorators through ConfigService', async () => {
    vi.stubEnv('TEST_RETRIES', '4');
    onTestFinished(() => void vi.unstubAllEnvs());
    const app = await start({
      imports: [ConfigModule.forRoot({ ignoreEnvFile: true })],
      inject: [ConfigService],
      useFactory: (config: ConfigService) => settings(Number(config.getOrThrow('TEST_RETRIES'))),
    });
    expect(await attemptsOf(app.get(Failing))).toBe(5);
  });
});

describe('hooks of the module', () => {
  const site = { className: 'Layered', methodName: 'work' };

  it('async-utils FR-025, async-utils FR-026: hear of each timeout and retry with class and method, of the end once', async () => {
    const { hooks, events } = recorder();
    const app = await boot({ imports: [AsyncUtilsModule.forRoot(hooks)], providers: [Layered] });
    const layered = app.get(Layered);
    await layered.work(3);
    const durationMs = expect.any(Number);
    expect(events.splice(0)).toEqual([
      ['timeout', { ms: 10, ...site }],
      ['retry', { attempt: 1, delayMs: 0, error: expect.objectContaining({ code: 'TIMEOUT' }), ...site }],
      [
        'retry',
        { attempt: 2, delayMs: 0, error: expect.objectContaining({ message: 'attempt 2' }), ...site },
      ],
      ['success', { attempts: 3, durationMs, ...site }],
    ]);
    await layered.work(99).catch(() => {});
    const error = expect.objectContaining({ code: 'RETRY_EXHAUSTED' });
    expect(events.slice(2)).toEqual([['error', { attempts: 3, durationMs, error, ...site }]]);
  });
});
