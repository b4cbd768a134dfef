import { describe, expect, it, vi } from 'vitest';
import { TimeoutError, wait, waitFor, waitUntil } from '../src/index.js';
import { expectNothingLeft, outcome, outcomeAfter, throwing, useFakeTime } from './leftovers.js';

useFakeTime();

describe('wait', () => {
  const days = 24 * 3600 * 1000;

  it.each([100, 100 * days])('async-utils FR-027: resolves after %i ms, not before', async (ms) => {
    const done = vi.fn();
    wait(ms).then(done);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(done).toHaveBeenCalledOnce();
    expectNothingLeft();
  });

  it('async-utils FR-027: with 0 resolves in a microtask, never synchronously', async () => {
    const order: string[] = [];
    const zero = wait(0).then(() => order.push('wait'));
    order.push('sync');
    await zero;
    expect(order).toEqual(['sync', 'wait']);
    expectNothingLeft();
  });

  it('async-utils FR-029: resolves with its value, and leaves no listener', async () => {
    const { signal } = new AbortController();
    const values = Promise.all([wait(5, { value: 'late', signal }), wait(0, { value: 'now', signal })]);
    expect(await outcomeAfter(values)).toEqual({ value: ['late', 'now'] });
    expectNothingLeft(signal);
  });
});

describe('waitUntil', () => {
  it('async-utils FR-030: checks at once and returns the truthy value', async () => {
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
    expect(await outcomeAfter(result, 3 * 200 + 2 * 50)).toEqual({ value: 3 });
    expectNothingLeft();
  });

  it('async-utils FR-031: checks every 50 ms by default', async () => {
    const [usual, quick] = [vi.fn(() => false), vi.fn(() => false)];
    const results = [
      outcome(waitUntil(usual, { timeoutMs: 499 })),
      outcome(waitUntil(quick, { intervalMs: 10, timeoutMs: 499 })),
    ];
    await vi.advanceTimersByTimeAsync(499);
    await Promise.all(results);
    expect([usual, quick].map(({ mock }) => mock.calls.length)).toEqual([10, 50]);
  });

  it('async-utils FR-031: fails with TimeoutError, also while a check hangs or ends later', async () => {
    const ends = [() => true, () => false, throwing(new Error('late'))];
    const late = ends.map((end) => async () => wait(200).then(end));
    const hanging = () => new Promise<boolean>(() => {});
    for (const condition of [() => false, hanging, ...late]) {
      const { error } = await outcomeAfter(waitUntil(condition, { timeoutMs: 100 }), 100);
      expect(error).toMatchObject({ name: 'TimeoutError', ms: 100 });
      await vi.advanceTimersByTimeAsync(500);
      expectNothingLeft();
    }
  });

  it('async-utils FR-031: with timeoutMs 0 the condition still gets its first check', async () => {
    expect(await waitUntil(async () => 'ready', { timeoutMs: 0 })).toBe('ready');
    const { error } = await outcomeAfter(waitUntil(() => false, { timeoutMs: 0 }));
    expect(error).toBeInstanceOf(TimeoutError);
  });

  it('an error of the first or a later check is the failure', async () => {
    const error = new Error('broken condition');
    const later = vi.fn(throwing(error)).mockImplementationOnce(() => false as never);
    for (const condition of [throwing(error), later])
      expect(await outcomeAfter(waitUntil(condition, { timeoutMs: 1000 }), 50)).toEqual({ error });
    expectNothingLeft();
  });
});

describe('waitFor', () => {
  it.each([
    [0, [0, 100, 200]],
    [30, [0, 130, 260]],
  ])('async-utils FR-032: pauses between calls that take %i ms, not after the last', async (ms, starts) => {
    const startedAt = Date.now();
    const times: number[] = [];
    const result = waitFor(3, 100, async (index) => {
      times.push(Date.now() - startedAt);
      await wait(ms);
      return index * 2;
    });
    expect(await outcomeAfter(result, 200 + 3 * ms)).toEqual({ value: [0, 2, 4] });
    expect(times).toEqual(starts);
    expectNothingLeft();
  });

  it('count 0 calls nothing, and a failing callback ends the series', async () => {
    const callback = vi.fn(throwing(new Error('first')));
    expect(await waitFor(0, 10, callback)).toEqual([]);
    expect(callback).not.toHaveBeenCalled();
    await expect(waitFor(3, 10, callback)).rejects.toThrow('first');
    expect(callback).toHaveBeenCalledOnce();
    expectNothingLeft();
  });
});
