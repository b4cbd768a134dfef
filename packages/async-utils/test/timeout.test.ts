import { describe, expect, it, vi } from 'vitest';
import { AbortError, TimeoutError, timeout, wait } from '../src/index.js';
import { expectNothingLeft, outcome, outcomeAfter, throwing, useFakeTime } from './leftovers.js';

useFakeTime();

const never = () => new Promise<never>(() => {});
const rejecting = (error: unknown) => () => Promise.reject(error);

describe('time limit', () => {
  it('async-utils FR-010: returns the result of a promise or a function that is in time', async () => {
    const all = Promise.all([
      timeout(wait(99, { value: 'promise' }), 100),
      timeout(() => wait(99, { value: 'function' }), 100),
      timeout(() => 'plain', 100),
    ]);
    expect(await outcomeAfter(all, 99)).toEqual({ value: ['promise', 'function', 'plain'] });
    expectNothingLeft();
  });

  it('async-utils FR-010: fails with TimeoutError when the time is up, not before', async () => {
    const settled = vi.fn();
    const result = outcome(timeout(never(), 100));
    result.then(settled);
    await vi.advanceTimersByTimeAsync(99);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect((await result).error).toMatchObject({ name: 'TimeoutError', code: 'TIMEOUT', ms: 100 });
    expectNothingLeft();
  });

  it('async-utils FR-010: the signal of a function aborts on timeout, and only then', async () => {
    const signals: AbortSignal[] = [];
    const work = (ms: number) => (signal: AbortSignal) => {
      signals.push(signal);
      return ms ? wait(ms, { signal }) : throwing(new Error('own'))();
    };
    const { error } = await outcomeAfter(timeout(work(500), 100), 100);
    await outcomeAfter(timeout(work(50), 100), 50);
    await outcome(timeout(work(0), 100));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, false, false]);
    expect(signals[0]?.reason).toBe(error);
    expectNothingLeft();
  });

  it('a failure in time is passed on as it is', async () => {
    const error = new Error('own');
    const onTimeout = vi.fn();
    // biome-ignore lint/suspicious/noThenProperty: the input is a thenable.
    const thenable = { then: throwing(error) } as unknown as Promise<never>;
    for (const input of [Promise.reject(error), thenable])
      expect((await outcome(timeout(input, { ms: 100, onTimeout }))).error).toBe(error);
    await vi.advanceTimersByTimeAsync(200);
    expect(onTimeout).not.toHaveBeenCalled();
    expectNothingLeft();
  });

  it('async-utils EC-3: with 0 ms fails at once and never calls the function', async () => {
    const [fn, cleanup, onTimeout] = [vi.fn(), vi.fn(), vi.fn()];
    const { error } = await outcome(timeout(fn, { ms: 0, cleanup, onTimeout }));
    expect(error).toMatchObject({ code: 'TIMEOUT', ms: 0 });
    expect(await timeout(fn, { ms: 0, fallback: 'fallback', cleanup, onTimeout })).toBe('fallback');
    expect(fn).not.toHaveBeenCalled();
    expect([cleanup, onTimeout].map(({ mock }) => mock.calls.length)).toEqual([2, 2]);
    expect((await outcome(timeout(Promise.reject(new Error('x')), 0))).error).toBeInstanceOf(TimeoutError);
    expectNothingLeft();
  });

  it('Infinity sets no timer, and a limit beyond what one platform timer holds is kept', async () => {
    const days = 24 * 3600 * 1000;
    const results = [Number.POSITIVE_INFINITY, 60 * days].map((ms) => timeout(wait(59 * days), ms));
    expect(vi.getTimerCount()).toBe(3);
    expect(await outcomeAfter(Promise.all(results), 59 * days)).toEqual({ value: [undefined, undefined] });
    expectNothingLeft();
  });

  it('a late rejection of the abandoned work is never unhandled', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const lateFailure = () => wait(200).then(rejecting(new Error('late')));
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
  const timedOut = (options: Omit<Parameters<typeof timeout>[1] & object, 'ms'>) =>
    outcomeAfter(timeout(never, { ms: 100, ...options }), 100);

  it('async-utils FR-011: resolves with the fallback value, or with what the fallback function returns', async () => {
    for (const fallback of ['value', null, undefined])
      expect(await timedOut({ fallback })).toStrictEqual({ value: fallback });
    expect(await timedOut({ fallback: () => 'made' })).toEqual({ value: 'made' });
    expect(await timedOut({ fallback: async () => 'async' })).toEqual({ value: 'async' });
    const error = new Error('broken fallback');
    expect(await timedOut({ fallback: throwing(error) })).toEqual({ error });
  });

  it('async-utils FR-011: rejects with the given error or with one of a factory', async () => {
    const error = new Error('own');
    expect(await timedOut({ error })).toEqual({ error });
    expect(await timedOut({ error: () => error })).toEqual({ error });
  });

  it('cleanup runs once, before the result is returned, also with a fallback, never on success', async () => {
    const order: string[] = [];
    const cleanup = async () => {
      await wait(10);
      order.push('cleanup');
    };
    const failed = outcome(timeout(never, { ms: 100, cleanup }));
    failed.then(() => order.push('result'));
    await vi.advanceTimersByTimeAsync(110);
    expect(order.splice(0)).toEqual(['cleanup', 'result']);
    const fellBack = timeout(never, { ms: 100, cleanup, fallback: 1 });
    expect(await outcomeAfter(fellBack, 110)).toEqual({ value: 1 });
    expect(order.splice(0)).toEqual(['cleanup']);
    await timeout(async () => 'in time', { ms: 100, cleanup });
    await outcome(timeout(rejecting(new Error('own')), { ms: 100, cleanup }));
    expect(order).toEqual([]);
    expectNothingLeft();
  });

  it('async-utils FR-024: a failing cleanup becomes the cause; with a fallback it is dropped', async () => {
    const cause = new Error('cleanup');
    const cleanup = rejecting(cause);
    expect((await timedOut({ cleanup })).error).toMatchObject({ code: 'TIMEOUT', cause });
    const own = await timedOut({ cleanup, error: () => new Error('own') });
    expect(own.error).toMatchObject({ message: 'own', cause });
    expect(await timedOut({ cleanup, fallback: 1 })).toEqual({ value: 1 });
  });

  it('async-utils FR-025, async-utils FR-026: hooks hear of the timeout and of the end', async () => {
    const hooks = { onTimeout: vi.fn(throwing(new Error('hook'))), onSuccess: vi.fn(), onError: vi.fn() };
    const { error } = await timedOut(hooks);
    expect(error).toBeInstanceOf(TimeoutError);
    await timeout(() => 1, { ms: 100, ...hooks });
    expect(hooks.onTimeout.mock.calls).toEqual([[{ ms: 100 }]]);
    expect(hooks.onError.mock.calls).toEqual([[{ error, attempts: 1, durationMs: 100 }]]);
    expect(hooks.onSuccess.mock.calls).toEqual([[{ attempts: 1, durationMs: 0 }]]);
  });
});

describe('abort', () => {
  it('async-utils FR-012: rejects at once, stops the work and clears the timer', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const cleanup = vi.fn();
    const work = vi.fn((_: AbortSignal) => never());
    const result = outcome(timeout(work, { ms: 100, signal, cleanup }));
    controller.abort('enough');
    const { error } = await result;
    expect(error).toBeInstanceOf(AbortError);
    expect(error).toMatchObject({ cause: 'enough' });
    expect(work.mock.calls[0]?.[0].reason).toBe('enough');
    expect(cleanup).not.toHaveBeenCalled();
    expectNothingLeft(signal);
  });

  it('leaves no listener after success, failure or timeout', async () => {
    const { signal } = new AbortController();
    for (const work of [() => 1, rejecting(new Error('x')), never])
      await outcomeAfter(timeout(work, { ms: 100, signal }), 100);
    expectNothingLeft(signal);
  });
});
