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
  type CallHandler,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  RequestTimeoutException,
  Sse,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { concat, defer, NEVER, Observable, of, throwError } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { expectNothingLeft } from '../leftovers.js';
import { boot } from './boot.js';
import { noDelay, recorder } from './services.js';

/** What the handlers do; set by each test. */
let answer: (call: number) => unknown = () => 'unset';
let calls = 0;

const handle = async (): Promise<unknown> => answer(++calls);
const hang = () => new Promise<never>(() => {});
const fail = (error: unknown) => () => {
  throw error;
};

beforeEach(() => {
  calls = 0;
});

@Injectable()
class OnceMore extends RetryInterceptor {
  constructor() {
    super({ retries: 1 });
  }
}

@Controller()
class Handlers {
  @Get('plain')
  plain() {
    return handle();
  }

  @Get('retry')
  @UseInterceptors(RetryInterceptor)
  retry() {
    return handle();
  }

  @Get('retry-own')
  @UseInterceptors(new RetryInterceptor({ retries: 1, backoff: noDelay }))
  retryOwn() {
    return handle();
  }

  @Get('retry-subclass')
  @UseInterceptors(OnceMore)
  retrySubclass() {
    return handle();
  }

  @Get('retry-decorated')
  @UseInterceptors(OnceMore)
  @Retryable({ shouldRetry: () => false })
  async retryDecorated() {
    return handle();
  }

  @Get('timeout')
  @UseInterceptors(TimeoutInterceptor)
  timeout() {
    return handle();
  }

  @Get('timeout-fallback')
  @UseInterceptors(new TimeoutInterceptor({ ms: 10, fallback: { from: 'fallback' } }))
  timeoutFallback() {
    return handle();
  }

  @Get('timeout-error')
  @UseInterceptors(new TimeoutInterceptor({ ms: 10, error: () => new HttpException('slow', 504) }))
  timeoutError() {
    return handle();
  }

  @Get('both')
  @UseInterceptors(RetryInterceptor, TimeoutInterceptor)
  both() {
    return handle();
  }

  @Sse('events')
  @UseInterceptors(RetryInterceptor, TimeoutInterceptor)
  events() {
    return defer(() => (++calls < 2 ? throwError(() => new Error('first')) : of({ data: 1 }, { data: 2 })));
  }
}

const quick: AsyncUtilsConfig = { retry: { retries: 2, backoff: noDelay }, timeout: { ms: 15 } };

const start = (config: AsyncUtilsConfig = quick) =>
  boot({ imports: [AsyncUtilsModule.forRoot(config)], controllers: [Handlers] });

describe('RetryInterceptor', () => {
  it('async-utils FR-018: by class it has the settings of the module and runs the handler again', async () => {
    answer = (call) => (call < 3 ? fail(new Error('down'))() : { call });
    const response = await (await start()).inject('/retry');
    expect(response.json()).toEqual({ call: 3 });
  });

  it('async-utils FR-018: made by hand it has its own options', async () => {
    answer = fail(new Error('down'));
    expect((await (await start()).inject('/retry-own')).statusCode).toBe(500);
    expect(calls).toBe(2);
  });

  it('async-utils FR-018: a subclass has both, its own options first', async () => {
    answer = fail(new Error('down'));
    await (await start()).inject('/retry-subclass');
    expect(calls).toBe(2);
  });

  it('async-utils FR-018: it works without the module', async () => {
    answer = (call) => (call < 2 ? fail(new Error('down'))() : 'up');
    const app = await boot({ controllers: [Handlers] });
    expect((await app.inject('/retry')).payload).toBe('up');
  });

  it("async-utils FR-018: when it gives up, the client gets the handler's own status", async () => {
    answer = (call) => fail(new HttpException(`down ${call}`, 503))();
    const response = await (await start()).inject('/retry');
    expect([response.statusCode, response.json().message]).toEqual([503, 'down 3']);
  });

  it.each([
    [404, 1],
    [400, 1],
    [408, 3],
    [429, 3],
    [500, 3],
  ])('async-utils FR-018: status %i leads to %i tries', async (status, tries) => {
    answer = fail(new HttpException('no', status));
    expect((await (await start()).inject('/retry')).statusCode).toBe(status);
    expect(calls).toBe(tries);
  });

  it('async-utils FR-018: shouldRetry of the module replaces the rule for client errors', async () => {
    answer = fail(new BadRequestException());
    const app = await start({ retry: { ...quick.retry, shouldRetry: async () => true } });
    expect((await app.inject('/retry')).statusCode).toBe(400);
    expect(calls).toBe(3);
  });

  it('async-utils FR-018: as a global interceptor, by hand or by class', async () => {
    answer = fail(new Error('down'));
    const byHand = await boot({ controllers: [Handlers] }, (app) =>
      app.useGlobalInterceptors(new RetryInterceptor({ retries: 4, backoff: noDelay })),
    );
    await byHand.inject('/plain');
    expect(calls).toBe(5);

    const byClass = await boot({
      imports: [AsyncUtilsModule.forRoot(quick)],
      controllers: [Handlers],
      providers: [{ provide: APP_INTERCEPTOR, useClass: RetryInterceptor }],
    });
    calls = 0;
    await byClass.inject('/plain');
    expect(calls).toBe(3);
  });

  it('async-utils FR-018: bad options are refused at once', () => {
    expect(() => new RetryInterceptor({ retries: 0.5 })).toThrow(
      /^RetryInterceptor: retries must be an integer ≥ 0/,
    );
  });
});

describe('TimeoutInterceptor', () => {
  it('async-utils FR-019: a handler in time answers as ever', async () => {
    answer = () => ({ ok: true });
    expect((await (await start()).inject('/timeout')).json()).toEqual({ ok: true });
  });

  it('async-utils FR-019: too late is 408', async () => {
    answer = hang;
    const response = await (await start()).inject('/timeout');
    expect([response.statusCode, response.json()]).toEqual([
      408,
      { statusCode: 408, message: 'Request Timeout' },
    ]);
  });

  it('async-utils FR-019: a fallback or an error of its own answers instead', async () => {
    answer = hang;
    const app = await start();
    expect((await app.inject('/timeout-fallback')).json()).toEqual({ from: 'fallback' });
    expect((await app.inject('/timeout-error')).statusCode).toBe(504);
  });

  it('async-utils FR-019: made by hand as a global interceptor', async () => {
    answer = hang;
    const app = await boot({ controllers: [Handlers] }, (it) =>
      it.useGlobalInterceptors(new TimeoutInterceptor({ ms: 10 })),
    );
    expect((await app.inject('/plain')).statusCode).toBe(408);
  });

  it('async-utils FR-019: inside a RetryInterceptor each try has its time', async () => {
    answer = (call) => (call < 3 ? hang() : 'third');
    expect((await (await start()).inject('/both')).payload).toBe('third');
  });

  it('async-utils FR-019: a stream passes with all its values', async () => {
    const response = await (await start()).inject('/events');
    expect(response.payload.match(/data: \d/g)).toEqual(['data: 1', 'data: 2']);
  });

  it('async-utils FR-019: bad options are refused at once', () => {
    expect(() => new TimeoutInterceptor(-1)).toThrow(/^TimeoutInterceptor: ms must be/);
  });
});

describe('hooks of the module', () => {
  const names = (events: [string, unknown][]) => events.map(([name]) => name);

  it('async-utils FR-025: interceptors report retries and timeouts with controller and handler', async () => {
    const { config, events } = recorder();
    answer = (call) => (call < 2 ? hang() : 'second');
    await (await start({ ...quick, ...config })).inject('/both');
    expect(names(events)).toEqual(['timeout', 'retry', 'success']);
    for (const [, event] of events)
      expect(event).toMatchObject({ className: 'Handlers', methodName: 'both' });
  });

  it('async-utils FR-026: a request ends once, also beside a decorated handler', async () => {
    const { config, events } = recorder();
    answer = fail(new HttpException('down', 503));
    const app = await start({ ...quick, ...config });
    await app.inject('/both');
    expect(names(events)).toEqual(['retry', 'retry', 'error']);
    events.length = 0;
    await app.inject('/retry-decorated');
    expect(names(events)).toEqual(['error', 'retry', 'error']);
  });
});

describe('without a server', () => {
  const context = {
    getClass: () => Handlers,
    getHandler: () => Handlers.prototype.plain,
  } as unknown as ExecutionContext;
  const handler = (stream: Observable<unknown>): CallHandler => ({ handle: () => stream });

  /** Subscribes and notes what comes. */
  function watch(response: Observable<unknown>) {
    const seen: unknown[] = [];
    const subscription = response.subscribe({
      next: (value) => seen.push(value),
      error: (error: unknown) => seen.push(error),
      complete: () => seen.push('end'),
    });
    return { seen, subscription };
  }

  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('async-utils FR-018: a stream that fails after its first value is not started again', async () => {
    const failing = defer(() => {
      calls++;
      return concat(
        of(1),
        throwError(() => new Error('later')),
      );
    });
    const { seen } = watch(new RetryInterceptor().intercept(context, handler(failing)));
    await vi.runAllTimersAsync();
    expect(seen).toEqual([1, new Error('later')]);
    expect(calls).toBe(1);
  });

  it("async-utils FR-018: a RetryError of the handler's own that is not retried stays what it is", async () => {
    const own = new RetryError([new Error('inside')]);
    const interceptor = new RetryInterceptor({ shouldRetry: () => false });
    const { seen } = watch(interceptor.intercept(context, handler(throwError(() => own))));
    await vi.runAllTimersAsync();
    expect(seen).toEqual([own]);
  });

  it('async-utils FR-018: unsubscribing clears the timer of the next try', async () => {
    const { subscription } = watch(
      new RetryInterceptor().intercept(context, handler(throwError(() => new Error('down')))),
    );
    await vi.advanceTimersByTimeAsync(50);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('async-utils FR-018: the signal of the options ends the request, before and during it', async () => {
    const controller = new AbortController();
    const interceptor = new RetryInterceptor({ signal: controller.signal });
    const { seen } = watch(interceptor.intercept(context, handler(NEVER)));
    await vi.advanceTimersByTimeAsync(10);
    expect(seen).toEqual([]);
    controller.abort('stop');
    await vi.advanceTimersByTimeAsync(0);
    expect(isAbortError(seen[0]) && seen[0].cause).toBe('stop');
    const late = watch(interceptor.intercept(context, handler(NEVER)));
    await vi.advanceTimersByTimeAsync(0);
    expect(isAbortError(late.seen[0])).toBe(true);
  });

  it('async-utils FR-018: a request that is over leaves nothing on the signal', async () => {
    const { signal } = new AbortController();
    const { seen } = watch(new RetryInterceptor({ signal }).intercept(context, handler(of('done'))));
    await vi.advanceTimersByTimeAsync(0);
    expect(seen).toEqual(['done', 'end']);
    expectNothingLeft(signal);
  });

  it('async-utils FR-019: the error is a RequestTimeoutException caused by a TimeoutError, the handler unsubscribed', async () => {
    const stopped = vi.fn();
    const { seen } = watch(
      new TimeoutInterceptor(100).intercept(context, handler(new Observable(() => stopped))),
    );
    await vi.advanceTimersByTimeAsync(100);
    const [error] = seen as [RequestTimeoutException];
    expect(error).toBeInstanceOf(RequestTimeoutException);
    expect(isTimeoutError(error.cause) && error.cause.ms).toBe(100);
    expect(stopped).toHaveBeenCalledOnce();
  });

  it('async-utils FR-019: a value that comes while the clean-up runs is dropped', async () => {
    const value = new Observable((subscriber) => {
      setTimeout(() => subscriber.next('late'), 150);
    });
    const interceptor = new TimeoutInterceptor({
      ms: 100,
      fallback: 'instead',
      cleanup: () => new Promise((resolve) => setTimeout(resolve, 100)),
      onTimeout: fail(new Error('hook')),
    });
    const { seen } = watch(interceptor.intercept(context, handler(value)));
    await vi.advanceTimersByTimeAsync(200);
    expect(seen).toEqual(['instead', 'end']);
  });

  it('async-utils FR-019: after its first value a stream has all the time it wants, until it is unsubscribed', async () => {
    const stopped = vi.fn();
    const stream = new Observable((subscriber) => {
      subscriber.next(1);
      setTimeout(() => subscriber.next(2), 1000);
      return stopped;
    });
    const { seen, subscription } = watch(new TimeoutInterceptor(100).intercept(context, handler(stream)));
    await vi.advanceTimersByTimeAsync(1000);
    expect(seen).toEqual([1, 2]);
    expect(stopped).not.toHaveBeenCalled();
    subscription.unsubscribe();
    expect(stopped).toHaveBeenCalledOnce();
  });

  it('async-utils FR-019: unsubscribing clears the timer', async () => {
    const { subscription } = watch(new TimeoutInterceptor(100).intercept(context, handler(NEVER)));
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(1);
    subscription.unsubscribe();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('async-utils FR-019: without a time limit the error says what to write', () => {
    expect(() => new TimeoutInterceptor().intercept(context, handler(NEVER))).toThrow(
      /^TimeoutInterceptor on Handlers\.plain has no ms: write new TimeoutInterceptor\(ms\), or import AsyncUtilsModule/,
    );
  });
});
