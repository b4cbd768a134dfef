import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AbortError, TimeoutError, timeout, wait } from '../src/index.js';
import { expectNothingLeft, outcome } from './leftovers.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('time limit', () => {
  it('async-utils FR-010: gives the result of a promise or a function that is in time', async () => {
    const all = Promise.all([
      timeout(wait(99, { value: 'promise' }), 100),
      timeout(() => wait(99, { value: 'function' }), 100),
      timeout(() => 'plain', 100),
    ]);
    await vi.advanceTimersByTimeAsync(99);
    expect(await all).toEqual(['promise', 'function', 'plain']);
    expectNothingLeft();
  });

  it('async-utils FR-010: fails with TimeoutError when the time is up, not before', async () => {
    const settled = vi.fn();
    const result = outcome(timeout(new Promise(() => {}), 100));
    result.then(settled);
    await vi.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect((await result).error).toMatchObject({ name: 'TimeoutError', code: 'TIMEOUT', ms: 100 });
    expectNothingLeft();
  });

  it('async-utils FR-010: the signal of a function aborts on timeout, so that the work can stop', async () => {
    let seen: AbortSignal | undefined;
    const result = outcome(
      timeout((signal) => {
        seen = signal;
        return wait(500, { signal });
      }, 100),
    );
    await vi.advanceTimersByTimeAsync(100);
    const { error } = await result;
    expect(error).toBeInstanceOf(TimeoutError);
    expect(seen?.aborted).toBe(true);
    expect(seen?.reason).toBe(error);
    expectNothingLeft();
  });

  it('the signal does not abort on success or failure', async () => {
    const signals: AbortSignal[] = [];
    await timeout((signal) => signals.push(signal), 100);
    await outcome(
      timeout((signal) => {
        signals.push(signal);
        throw new Error('x');
      }, 100),
    );
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false]);
    expectNothingLeft();
  });

  it('a failure in time is passed on as it is', async () => {
    const error = new Error('own');
    expect((await outcome(timeout(Promise.reject(error), 100))).error).toBe(error);
    const onTimeout = vi.fn();
    const throwing = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is asked about.
      then() {
        throw error;
      },
    } as unknown as Promise<never>;
    expect((await outcome(timeout(throwing, { ms: 100, onTimeout }))).error).toBe(error);
    await vi.advanceTimersByTimeAsync(200);
    expect(onTimeout).not.toHaveBeenCalled();
    expectNothingLeft();
  });

  it('async-utils EC-3: with 0 ms it fails at once and never calls the function', async () => {
    const fn = vi.fn();
    const cleanup = vi.fn();
    const onTimeout = vi.fn();
    const { error } = await outcome(timeout(fn, { ms: 0, cleanup, onTimeout }));
    expect(error).toMatchObject({ code: 'TIMEOUT', ms: 0 });
    expect(await timeout(fn, { ms: 0, fallback: 'fallback', cleanup, onTimeout })).toBe('fallback');
    expect(fn).not.toHaveBeenCalled();
    expect(cleanup).toHaveBeenCalledTimes(2);
    expect(onTimeout).toHaveBeenCalledTimes(2);
    expect((await outcome(timeout(Promise.reject(new Error('x')), 0))).error).toBeInstanceOf(TimeoutError);
    expectNothingLeft();
  });

  it('Infinity never times out and sets no timer', async () => {
    const result = timeout(wait(1e9, { value: 'late' }), Number.POSITIVE_INFINITY);
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(1e9);
    expect(await result).toBe('late');
  });

  it('a limit beyond what the platform’s timers can hold is kept', async () => {
    const settled = vi.fn();
    const days = 24 * 3600 * 1000;
    outcome(timeout(new Promise(() => {}), 60 * days)).then(settled);
    await vi.advanceTimersByTimeAsync(59 * days);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1 * days);
    expect(settled).toHaveBeenCalledOnce();
    expectNothingLeft();
  });

  it('a late rejection of the abandoned work is never unhandled', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const lateFailure = async () => {
      await wait(200);
      throw new Error('late');
    };
    const results = [outcome(timeout(lateFailure(), 100)), outcome(timeout(lateFailure, 100))];
    await vi.advanceTimersByTimeAsync(300);
    for (const { error } of await Promise.all(results)) expect(error).toBeInstanceOf(TimeoutError);
    vi.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe('in place of TimeoutError', () => {
  const never = () => new Promise<never>(() => {});
  const afterTimeout = async <T>(promise: Promise<T>) => {
    const result = outcome(promise);
    await vi.advanceTimersByTimeAsync(100);
    return result;
  };

  it('async-utils FR-011: a fallback value or function resolves instead', async () => {
    expect(await afterTimeout(timeout(never, { ms: 100, fallback: 'value' }))).toEqual({ value: 'value' });
    expect(await afterTimeout(timeout(never, { ms: 100, fallback: () => 'made' }))).toEqual({
      value: 'made',
    });
    expect(await afterTimeout(timeout(never, { ms: 100, fallback: async () => 'async' }))).toEqual({
      value: 'async',
    });
    for (const fallback of [null, undefined])
      expect(await afterTimeout(timeout(never, { ms: 100, fallback }))).toStrictEqual({ value: fallback });
    const broken = new Error('broken fallback');
    const fallback = () => {
      throw broken;
    };
    expect(await afterTimeout(timeout(never, { ms: 100, fallback }))).toEqual({ error: broken });
  });

  it('async-utils FR-011: an own error or a factory of one', async () => {
    const own = new Error('own');
    expect(await afterTimeout(timeout(never, { ms: 100, error: own }))).toEqual({ error: own });
    expect(await afterTimeout(timeout(never, { ms: 100, error: () => own }))).toEqual({ error: own });
  });

  it('cleanup runs once, before the result is given, also with a fallback, never on success', async () => {
    const order: string[] = [];
    const cleanup = async () => {
      await wait(10);
      order.push('cleanup');
    };
    const failed = outcome(timeout(never, { ms: 100, cleanup }));
    failed.then(() => order.push('result'));
    await vi.advanceTimersByTimeAsync(110);
    expect(order).toEqual(['cleanup', 'result']);
    const fellBack = timeout(never, { ms: 100, cleanup, fallback: 1 });
    await vi.advanceTimersByTimeAsync(110);
    expect(await fellBack).toBe(1);
    await timeout(async () => 'in time', { ms: 100, cleanup });
    await outcome(timeout(() => Promise.reject(new Error('own')), { ms: 100, cleanup }));
    expect(order).toEqual(['cleanup', 'result', 'cleanup']);
    expectNothingLeft();
  });

  it('async-utils FR-024: a failing cleanup becomes the cause; with a fallback it is dropped', async () => {
    const cause = new Error('cleanup');
    const cleanup = () => Promise.reject(cause);
    const { error } = await afterTimeout(timeout(never, { ms: 100, cleanup }));
    expect(error).toMatchObject({ code: 'TIMEOUT', cause });
    const own = await afterTimeout(timeout(never, { ms: 100, cleanup, error: () => new Error('own') }));
    expect(own.error).toMatchObject({ message: 'own', cause });
    expect(await afterTimeout(timeout(never, { ms: 100, cleanup, fallback: 1 }))).toEqual({ value: 1 });
  });

  it('async-utils FR-025: onTimeout hears of it once; a hook that throws changes nothing', async () => {
    const onTimeout = vi.fn(() => {
      throw new Error('hook');
    });
    const { error } = await afterTimeout(timeout(never, { ms: 100, onTimeout }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(onTimeout.mock.calls).toEqual([[{ ms: 100 }]]);
    await timeout(() => 1, { ms: 100, onTimeout });
    expect(onTimeout).toHaveBeenCalledOnce();
  });

  it('async-utils FR-026: onSuccess and onError hear of the end', async () => {
    const onSuccess = vi.fn();
    const onError = vi.fn();
    const { error } = await afterTimeout(timeout(never, { ms: 100, onSuccess, onError }));
    expect(onError.mock.calls).toEqual([[{ error, attempts: 1, durationMs: 100 }]]);
    await timeout(() => 1, { ms: 100, onSuccess, onError });
    expect(onSuccess.mock.calls).toEqual([[{ attempts: 1, durationMs: 0 }]]);
  });
});

describe('abort', () => {
  it('async-utils FR-012: abort rejects at once, stops the work and clears the timer', async () => {
    const controller = new AbortController();
    const cleanup = vi.fn();
    let seen: AbortSignal | undefined;
    const result = outcome(
      timeout(
        (signal) => {
          seen = signal;
          return new Promise(() => {});
        },
        { ms: 100, signal: controller.signal, cleanup },
      ),
    );
    controller.abort('enough');
    const { error } = await result;
    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ cause: 'enough' });
    expect(seen?.reason).toBe('enough');
    expect(cleanup).not.toHaveBeenCalled();
    expectNothingLeft(controller.signal);
  });

  it('abort ends a cleanup that hangs', async () => {
    const controller = new AbortController();
    const result = outcome(
      timeout(new Promise(() => {}), {
        ms: 100,
        cleanup: () => new Promise(() => {}),
        signal: controller.signal,
      }),
    );
    await vi.advanceTimersByTimeAsync(100);
    controller.abort();
    expect((await result).error).toBeInstanceOf(AbortError);
    expectNothingLeft(controller.signal);
  });

  it('no listener stays after success, failure or timeout', async () => {
    const { signal } = new AbortController();
    await timeout(() => 1, { ms: 100, signal });
    await outcome(timeout(() => Promise.reject(new Error('x')), { ms: 100, signal }));
    const timedOut = outcome(timeout(new Promise(() => {}), { ms: 100, signal }));
    await vi.advanceTimersByTimeAsync(100);
    await timedOut;
    expectNothingLeft(signal);
  });
});
