import { isAbortError, isTimeoutError, RetryError } from '@millrace/async-utils';
import {
  type AsyncUtilsConfig,
  AsyncUtilsModule,
  Retryable,
  RetryInterceptor,
  TimeoutInterceptor,
} from '@millrace/async-utils/nestjs';
import {
  BadRequestException,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  RequestTimeoutException,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { concat, defer, NEVER, Observable, of, throwError } from 'rxjs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { expectNothingLeft, throwing, useFakeTime } from '../leftovers.js';
import { boot, recorder } from './boot.js';

const backoff = () => 0;
const hang = () => new Promise<never>(() => {});

/** The result of the handlers. Each test sets it. */
let answer: (call: number) => unknown = hang;
let calls = 0;
beforeEach(() => {
  calls = 0;
});

const settings: AsyncUtilsConfig = { retry: { retries: 2, backoff }, timeout: { ms: 15 } };
type Interceptors = Parameters<typeof UseInterceptors>;

/** Sends one request to a handler with interceptors. */
async function ask(interceptors: Interceptors, config: AsyncUtilsConfig | undefined = settings) {
  @Controller()
  class Handlers {
    @Get()
    @UseInterceptors(...interceptors)
    async get(): Promise<unknown> {
      return answer(++calls);
    }
  }
  const app = await boot({ imports: [AsyncUtilsModule.forRoot(config)], controllers: [Handlers] });
  return app.inject('/');
}

@Injectable()
class OnceMore extends RetryInterceptor {
  constructor() {
    super({ retries: 1 });
  }
}

@Controller()
class Plain {
  @Get()
  async get(): Promise<unknown> {
    return answer(++calls);
  }
}

describe('RetryInterceptor', () => {
  it.each<[string, Interceptors, attempts: number]>([
    ['its class takes the settings of the module', [RetryInterceptor], 3],
    ['an instance takes its own options', [new RetryInterceptor({ retries: 1, backoff })], 2],
    ['a subclass prefers its own options to the settings', [OnceMore], 2],
  ])(
    "async-utils FR-018: %s; the client gets the handler's last error",
    async (_, interceptors, attempts) => {
      answer = (call) => throwing(new HttpException(`down ${call}`, 503))();
      const response = await ask(interceptors);
      expect([response.statusCode, response.json().message]).toEqual([503, `down ${attempts}`]);
      expect(calls).toBe(attempts);
    },
  );

  it('async-utils FR-018: runs the handler until it succeeds, without the module too', async () => {
    answer = (call) => (call < 2 ? throwing(new Error('down'))() : { call });
    @Controller()
    @UseInterceptors(RetryInterceptor)
    class Retried extends Plain {}
    expect((await (await boot({ controllers: [Retried] })).inject('/')).json()).toEqual({ call: 2 });
  });

  it.each([
    [404, 1],
    [400, 1],
    [408, 3],
    [429, 3],
    [500, 3],
  ])('async-utils FR-018: status %i leads to %i attempts', async (status, attempts) => {
    answer = throwing(new HttpException('no', status));
    expect((await ask([RetryInterceptor])).statusCode).toBe(status);
    expect(calls).toBe(attempts);
  });

  it('async-utils FR-018: shouldRetry of the module replaces the rule for client errors', async () => {
    answer = throwing(new BadRequestException());
    await ask([RetryInterceptor], { retry: { ...settings.retry, shouldRetry: async () => true } });
    expect(calls).toBe(3);
  });

  it('async-utils FR-018, async-utils FR-019: both are global interceptors, as instances or by class', async () => {
    answer = hang;
    const instances = [new RetryInterceptor({ retries: 1, backoff }), new TimeoutInterceptor(10)];
    const byHand = await boot({ controllers: [Plain] }, (app) => app.useGlobalInterceptors(...instances));
    expect((await byHand.inject('/')).statusCode).toBe(408);
    expect(calls).toBe(2);
    const providers = [RetryInterceptor, TimeoutInterceptor].map((useClass) => ({
      provide: APP_INTERCEPTOR,
      useClass,
    }));
    const imports = [AsyncUtilsModule.forRoot(settings)];
    const byClass = await boot({ imports, controllers: [Plain], providers });
    calls = 0;
    expect((await byClass.inject('/')).statusCode).toBe(408);
    expect(calls).toBe(3);
  });
});

describe('TimeoutInterceptor', () => {
  it('async-utils FR-019: answers 408, the fallback or the configured error when it is too late', async () => {
    answer = hang;
    const response = await ask([TimeoutInterceptor]);
    expect(response.json()).toEqual({ statusCode: 408, message: 'Request Timeout' });
    const fallback = await ask([new TimeoutInterceptor({ ms: 10, fallback: { from: 'fallback' } })]);
    expect(fallback.json()).toEqual({ from: 'fallback' });
    const error = () => new HttpException('slow', 504);
    expect((await ask([new TimeoutInterceptor({ ms: 10, error })])).statusCode).toBe(504);
  });
});

describe('hooks of the module', () => {
  it('async-utils FR-019, async-utils FR-025: hear of each attempt that is late, with controller and handler', async () => {
    const { hooks, events } = recorder();
    answer = (call) => (call < 2 ? hang() : 'second');
    const response = await ask([RetryInterceptor, TimeoutInterceptor], { ...settings, ...hooks });
    expect(response.payload).toBe('second');
    expect(events.map(([name]) => name)).toEqual(['timeout', 'retry', 'success']);
    for (const [, event] of events) expect(event).toMatchObject({ className: 'Handlers', methodName: 'get' });
  });

  it('async-utils FR-026: hear of the end of a request once, also beside a decorated handler', async () => {
    const { hooks, events } = recorder();
    answer = throwing(new HttpException('down', 503));
    await ask([RetryInterceptor, TimeoutInterceptor], { ...settings, ...hooks });
    expect(events.splice(0).map(([name]) => name)).toEqual(['retry', 'retry', 'error']);
    @Controller()
    class Decorated {
      @Get()
      @UseInterceptors(OnceMore)
      @Retryable({ shouldRetry: () => false })
      async get(): Promise<unknown> {
        return answer(1);
      }
    }
    const imports = [AsyncUtilsModule.forRoot({ ...settings, ...hooks })];
    await (await boot({ imports, controllers: [Decorated] })).inject('/');
    expect(events.map(([name]) => name)).toEqual(['error', 'retry', 'error']);
  });
});

describe('without a server', () => {
  useFakeTime();
  const context = {
    getClass: () => Plain,
    getHandler: () => Plain.prototype.get,
  } as unknown as ExecutionContext;

  /** Subscribes to the response of an interceptor and records it. */
  function watch(interceptor: RetryInterceptor | TimeoutInterceptor, stream: Observable<unknown>) {
    const seen: unknown[] = [];
    const subscription = interceptor.intercept(context, { handle: () => stream }).subscribe({
      next: (value) => seen.push(value),
      error: (error: unknown) => seen.push(error),
      complete: () => seen.push('end'),
    });
    return { seen, subscription };
  }
  const failing = (error: unknown) => throwError(() => error);

  it('async-utils FR-018: a stream is retried until its first value, not after', async () => {
    const stream = defer(() => (++calls < 2 ? failing('first') : concat(of(1, 2), failing('later'))));
    const { seen } = watch(new RetryInterceptor(), stream);
    await vi.runAllTimersAsync();
    expect([seen, calls]).toEqual([[1, 2, 'later'], 2]);
  });

  it("async-utils FR-018: the handler's own RetryError that is not retried stays as it is", async () => {
    const own = new RetryError([new Error('inside')]);
    const { seen } = watch(new RetryInterceptor({ shouldRetry: () => false }), failing(own));
    await vi.runAllTimersAsync();
    expect(seen).toEqual([own]);
  });

  it.each<[string, ...Parameters<typeof watch>]>([
    ['the next attempt', new RetryInterceptor(), failing(new Error('down'))],
    ['the time limit', new TimeoutInterceptor(100), NEVER],
  ])('async-utils FR-018, async-utils FR-019: unsubscribing clears the timer of %s', async (_, ...run) => {
    const { subscription } = watch(...run);
    await vi.advanceTimersByTimeAsync(50);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('async-utils FR-018: the signal of the options ends a request, before and during it', async () => {
    const controller = new AbortController();
    const interceptor = new RetryInterceptor({ signal: controller.signal });
    const done = watch(interceptor, of('done'));
    await vi.advanceTimersByTimeAsync(0);
    expect(done.seen).toEqual(['done', 'end']);
    expectNothingLeft(controller.signal);
    const { seen } = watch(interceptor, NEVER);
    await vi.advanceTimersByTimeAsync(10);
    controller.abort('stop');
    const late = watch(interceptor, NEVER);
    await vi.advanceTimersByTimeAsync(0);
    for (const error of [...seen, ...late.seen]) expect(isAbortError(error) && error.cause).toBe('stop');
    expect([seen.length, late.seen.length]).toEqual([1, 1]);
  });

  it('async-utils FR-019: the 408 has a TimeoutError as cause, and the handler is unsubscribed', async () => {
    const stopped = vi.fn();
    const { seen } = watch(new TimeoutInterceptor(100), new Observable(() => stopped));
    await vi.advanceTimersByTimeAsync(100);
    const [error] = seen as [RequestTimeoutException];
    expect(error).toBeInstanceOf(RequestTimeoutException);
    expect(isTimeoutError(error.cause) && error.cause.ms).toBe(100);
    expect(stopped).toHaveBeenCalledOnce();
  });

  it('async-utils FR-019: a value that comes while the clean-up runs is dropped', async () => {
    const stream = new Observable((subscriber) => {
      setTimeout(() => subscriber.next('late'), 150);
    });
    const cleanup = () => new Promise((resolve) => setTimeout(resolve, 100));
    const onTimeout = throwing(new Error('hook'));
    const { seen } = watch(
      new TimeoutInterceptor({ ms: 100, fallback: 'instead', cleanup, onTimeout }),
      stream,
    );
    await vi.advanceTimersByTimeAsync(200);
    expect(seen).toEqual(['instead', 'end']);
  });

  it('async-utils FR-019: after its first value a stream has no limit, until it is unsubscribed', async () => {
    const stopped = vi.fn();
    const stream = new Observable((subscriber) => {
      subscriber.next(1);
      setTimeout(() => subscriber.next(2), 1000);
      return stopped;
    });
    const { seen, subscription } = watch(new TimeoutInterceptor(100), stream);
    await vi.advanceTimersByTimeAsync(1000);
    expect(seen).toEqual([1, 2]);
    expect(stopped).not.toHaveBeenCalled();
    subscription.unsubscribe();
    expect(stopped).toHaveBeenCalledOnce();
  });

  it('async-utils FR-019: without a time limit the error says what to write', () => {
    expect(() => watch(new TimeoutInterceptor(), NEVER)).toThrow(
      /^TimeoutInterceptor on Plain\.get has no ms: write new TimeoutInterceptor\(ms\), or import AsyncUtilsModule/,
    );
  });
});
