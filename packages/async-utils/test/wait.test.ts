import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AbortError, TimeoutError, wait, waitFor, waitUntil } from '../src/index.js';
import { expectNothingLeft, outcome } from './leftovers.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('wait', () => {
  it('async-utils FR-027: resolves after the time, not before', async () => {
    const done = vi.fn();
    wait(100).then(done);
    await vi.advanceTimersByTimeAsync(99);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(done).toHaveBeenCalledOnce();
    expectNothingLeft();
  });

  it('async-utils FR-027: with 0 it resolves in a microtask, never synchronously', async () => {
    const order: string[] = [];
    const zero = wait(0).then(() => order.push('wait'));
    order.push('sync');
    await zero;
    expect(order).toEqual(['sync', 'wait']);
    expectNothingLeft();
  });

  it.each([-1, Number.NaN, '5', undefined, null])('refuses %s', async (ms) => {
    await expect(wait(ms as number)).rejects.toThrow(RangeError);
    expectNothingLeft();
  });

  it('waits longer than one platform timer can', async () => {
    const done = vi.fn();
    const days = 24 * 3600 * 1000;
    wait(100 * days).then(done);
    await vi.advanceTimersByTimeAsync(99.9 * days);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(0.2 * days);
    expect(done).toHaveBeenCalledOnce();
    expectNothingLeft();
  });

  it('with Infinity only the signal ends it', async () => {
    const controller = new AbortController();
    const result = outcome(wait(Number.POSITIVE_INFINITY, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(2 ** 33);
    controller.abort();
    expect((await result).error).toBeInstanceOf(AbortError);
    expectNothingLeft(controller.signal);
  });

  it('async-utils FR-028: the signal ends it at once', async () => {
    const controller = new AbortController();
    const result = outcome(wait(1000, { signal: controller.signal }));
    controller.abort('enough');
    expect((await result).error).toMatchObject({ name: 'AbortError', cause: 'enough' });
    expectNothingLeft(controller.signal);
  });

  it('async-utils FR-028: no listener stays when the time has passed', async () => {
    const { signal } = new AbortController();
    const result = wait(10, { signal });
    await vi.runAllTimersAsync();
    await result;
    expectNothingLeft(signal);
  });

  it('async-utils FR-029: gives its value', async () => {
    const result = Promise.all([wait(5, { value: 'late' }), wait(0, { value: 'now' })]);
    await vi.runAllTimersAsync();
    expect(await result).toEqual(['late', 'now']);
  });
});

describe('waitUntil', () => {
  it('async-utils FR-030: checks at once and gives the truthy value', async () => {
    const condition = vi.fn(() => 'ready');
    const result = waitUntil(condition);
    expect(condition).toHaveBeenCalledOnce();
    expect(await result).toBe('ready');
    expectNothingLeft();
  });

  it('async-utils FR-030: waits for an async condition and never runs two checks at once', async () => {
    let checks = 0;
    let running = 0;
    const result = waitUntil(async () => {
      expect(++running).toBe(1);
      await wait(200);
      running--;
      return ++checks === 3 ? checks : 0;
    });
    await vi.advanceTimersByTimeAsync(3 * 200 + 2 * 50);
    expect(await result).toBe(3);
    expectNothingLeft();
  });

  it('async-utils FR-031: checks every 50 ms unless told otherwise', async () => {
    const usual = vi.fn(() => false);
    const quick = vi.fn(() => false);
    const results = [
      outcome(waitUntil(usual, { timeoutMs: 499 })),
      outcome(waitUntil(quick, { intervalMs: 10, timeoutMs: 499 })),
    ];
    await vi.advanceTimersByTimeAsync(499);
    await Promise.all(results);
    expect(usual).toHaveBeenCalledTimes(10);
    expect(quick).toHaveBeenCalledTimes(50);
  });

  it('async-utils FR-031: fails with TimeoutError, also while a check hangs', async () => {
    for (const condition of [() => false, () => new Promise<boolean>(() => {})]) {
      const result = outcome(waitUntil(condition, { timeoutMs: 100 }));
      await vi.advanceTimersByTimeAsync(100);
      expect((await result).error).toMatchObject({ name: 'TimeoutError', ms: 100 });
      expectNothingLeft();
    }
  });

  it('async-utils FR-031: with timeoutMs 0 the condition still gets its first check', async () => {
    expect(await waitUntil(async () => 'ready', { timeoutMs: 0 })).toBe('ready');
    const result = outcome(waitUntil(() => false, { timeoutMs: 0 }));
    await vi.runAllTimersAsync();
    expect((await result).error).toBeInstanceOf(TimeoutError);
  });

  it('what the condition throws, now or later, is the failure', async () => {
    const error = new Error('broken condition');
    const now = () => {
      throw error;
    };
    let checks = 0;
    const later = async () => {
      if (++checks > 1) throw error;
    };
    const results = [outcome(waitUntil(now)), outcome(waitUntil(later, { timeoutMs: 1000 }))];
    await vi.advanceTimersByTimeAsync(50);
    expect(await Promise.all(results)).toEqual([{ error }, { error }]);
    expectNothingLeft();
  });

  it('a check that ends after the time is up changes nothing', async () => {
    const results = [
      async () => wait(200, { value: true }),
      async () => wait(200).then(() => Promise.reject(new Error('late'))),
    ].map((condition) => outcome(waitUntil(condition, { timeoutMs: 100 })));
    await vi.advanceTimersByTimeAsync(500);
    for (const { error } of await Promise.all(results)) expect(error).toBeInstanceOf(TimeoutError);
    expectNothingLeft();
  });

  it('async-utils FR-012: the signal ends it at once', async () => {
    const controller = new AbortController();
    const condition = vi.fn(() => false);
    const result = outcome(waitUntil(condition, { timeoutMs: 1000, signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(120);
    controller.abort();
    expect((await result).error).toBeInstanceOf(AbortError);
    expect(condition).toHaveBeenCalledTimes(3);
    expectNothingLeft(controller.signal);
  });
});

describe('waitFor', () => {
  it('async-utils FR-032: calls back count times with the pause between, none after the last', async () => {
    const startedAt = Date.now();
    const times: number[] = [];
    const result = waitFor(3, 100, (index) => {
      times.push(Date.now() - startedAt);
      return index * 2;
    });
    await vi.advanceTimersByTimeAsync(200);
    expect(await result).toEqual([0, 2, 4]);
    expect(times).toEqual([0, 100, 200]);
    expectNothingLeft();
  });

  it('async-utils FR-032: awaits async callbacks before the pause starts', async () => {
    const startedAt = Date.now();
    const times: number[] = [];
    const result = waitFor(2, 100, async () => {
      times.push(Date.now() - startedAt);
      await wait(30);
    });
    await vi.runAllTimersAsync();
    await result;
    expect(times).toEqual([0, 130]);
  });

  it('count 0 calls nothing; a failing callback ends the series', async () => {
    const callback = vi.fn();
    expect(await waitFor(0, 10, callback)).toEqual([]);
    expect(callback).not.toHaveBeenCalled();
    const failing = vi.fn(() => {
      throw new Error('second');
    });
    await expect(waitFor(3, 10, failing)).rejects.toThrow('second');
    expect(failing).toHaveBeenCalledOnce();
    expectNothingLeft();
  });

  it('async-utils FR-012: the signal ends it in a pause and in a callback', async () => {
    for (const at of [5, 15]) {
      const controller = new AbortController();
      const callback = vi.fn(() => wait(10));
      const result = outcome(waitFor(3, 10, callback, { signal: controller.signal }));
      await vi.advanceTimersByTimeAsync(at);
      controller.abort();
      expect((await result).error).toBeInstanceOf(AbortError);
      expect(callback).toHaveBeenCalledOnce();
      await vi.runAllTimersAsync();
      expectNothingLeft(controller.signal);
    }
  });
});
