import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { AbortError, onAbort, pLimit, retry, timeout, wait, waitFor, waitUntil } from '../src/index.js';
import { expectNothingLeft, outcome, outcomeAfter, throwing, useFakeTime } from './leftovers.js';

useFakeTime();

describe('composition', () => {
  it('retry around timeout is a timeout per attempt: a timed-out attempt fails and the next one runs', async () => {
    const signals: AbortSignal[] = [];
    const result = retry(({ attempt }) =>
      timeout((signal) => {
        signals.push(signal);
        return wait(attempt < 3 ? 500 : 50, { signal, value: attempt });
      }, 100),
    );
    expect(await outcomeAfter(result)).toEqual({ value: 3 });
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true, false]);
    expectNothingLeft();
  });

  it('async-utils EC-6: a retrying task keeps its one slot; a limit lowered meanwhile leaves running ones theirs', async () => {
    const limit = pLimit(2);
    const fail = throwing(new Error('busy'));
    const retrying = limit(() => retry(({ attempt }) => (attempt < 3 ? fail() : 'retried')));
    const other = limit(() => wait(1000, { value: 'other' }));
    const queued = limit(() => 'queued');
    await vi.advanceTimersByTimeAsync(50);
    expect([limit.activeCount, limit.pendingCount]).toEqual([2, 1]);
    limit.concurrency = 1;
    await vi.advanceTimersByTimeAsync(250);
    expect(await retrying).toBe('retried');
    expect([limit.activeCount, limit.pendingCount]).toEqual([1, 1]);
    await vi.runAllTimersAsync();
    expect(await Promise.all([other, queued])).toEqual(['other', 'queued']);
  });

  it('async-utils SC-005: one signal cancels all layers; everything is clean within 100 ms', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const limit = pLimit(2);
    const attempt = () => timeout((inner) => wait(1000, { signal: inner }), { ms: 500, signal });
    const task = () => retry(attempt, { signal });
    const results = Array.from({ length: 10 }, () => outcome(limit.run(task, { signal })));
    await vi.advanceTimersByTimeAsync(550);
    expect(limit.activeCount).toBe(2);
    const abortedAt = Date.now();
    controller.abort('shut down');
    for (const { error } of await Promise.all(results)) {
      expect(error).toBeInstanceOf(AbortError);
      expect(error).toMatchObject({ cause: 'shut down' });
    }
    await limit.onIdle();
    expect(Date.now() - abortedAt).toBeLessThanOrEqual(100);
    expect([limit.activeCount, limit.pendingCount]).toEqual([0, 0]);
    expectNothingLeft(signal);
  });

  it('async-utils EC-5: thousands of calls under one long-lived signal leave nothing on it', async () => {
    const { signal } = new AbortController();
    const limit = pLimit(5);
    const call = (_: undefined, index: number) => {
      const work = (attempt: number) =>
        attempt === 1 && index % 3 === 0 ? Promise.reject(new Error('x')) : wait(index % 4);
      const task = () =>
        retry(({ attempt }) => timeout(() => work(attempt), { ms: 2, signal }), {
          signal,
          retries: 1,
          backoff: () => 1,
        });
      return outcome(limit.run(task, { signal, priority: index % 11 }));
    };
    await outcomeAfter(Promise.all(Array(2000).fill(undefined).map(call)));
    expectNothingLeft(signal);
  });
});

describe('onAbort', () => {
  it('many callbacks share one listener; each is called once, unless it was taken back', () => {
    const controller = new AbortController();
    const callbacks = Array.from({ length: 1000 }, () => vi.fn());
    const offs = callbacks.map((callback) => onAbort(controller.signal, callback));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    offs[0]?.();
    offs[0]?.();
    controller.abort();
    expect(callbacks.filter((callback) => callback.mock.calls.length === 1)).toHaveLength(999);
    expect(callbacks[0]).not.toHaveBeenCalled();
    expectNothingLeft(controller.signal);
  });

  it('a callback that throws is reported, and the others are called all the same', async () => {
    const controller = new AbortController();
    const thrown = new Error('mine');
    onAbort(controller.signal, throwing(thrown));
    const waiting = wait(60_000, { signal: controller.signal });
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const reported = new Promise((resolve) => process.once('uncaughtException', resolve));
    controller.abort();
    await expect(waiting).rejects.toBeInstanceOf(AbortError);
    expect(await reported).toBe(thrown);
    for (const listener of others) process.on('uncaughtException', listener);
  });
});

describe('a signal everywhere', () => {
  const never = () => new Promise<never>(() => {});
  const callsOf = (signal: AbortSignal, fn: () => unknown): [string, () => Promise<unknown>][] => [
    ['retry', () => retry(fn, { signal })],
    ['limit.run', () => pLimit(1).run(fn, { signal })],
    ['limit.map', () => pLimit(1).map([1], fn, { signal })],
    ['limit.map of nothing', () => pLimit(1).map([], fn, { signal })],
    ['timeout', () => timeout(fn, { ms: 10, signal })],
    ['timeout 0', () => timeout(fn, { ms: 0, signal })],
    ['wait', () => wait(10, { signal })],
    ['wait 0', () => wait(0, { signal })],
    ['waitUntil', () => waitUntil(fn, { signal })],
    ['waitFor', () => waitFor(2, 10, fn, { signal })],
  ];

  it.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
    ['wait', (signal) => wait(1000, { signal })],
    ['an endless wait', (signal) => wait(Number.POSITIVE_INFINITY, { signal })],
    ['waitUntil between checks', (signal) => waitUntil(() => false, { timeoutMs: 1e6, signal })],
    ['waitUntil in a check', (signal) => waitUntil(never, { timeoutMs: 1e6, signal })],
    ['waitFor in a callback', (signal) => waitFor(2, 10, never, { signal })],
    ['waitFor in a pause', (signal) => waitFor(2, 1000, () => 1, { signal })],
    ['timeout in its cleanup', (signal) => timeout(never, { ms: 1, cleanup: never, signal })],
  ])('async-utils FR-012, async-utils FR-028: an abort ends %s at once', async (_, call) => {
    const controller = new AbortController();
    const result = outcome(call(controller.signal));
    await vi.advanceTimersByTimeAsync(120);
    controller.abort('enough');
    expect((await result).error).toMatchObject({ name: 'AbortError', cause: 'enough' });
    expectNothingLeft(controller.signal);
  });

  const aborted = { name: 'AbortError', code: 'ABORTED', cause: 'too late' };
  const slip = { name: 'TypeError', message: 'signal must be an AbortSignal, got [object AbortController]' };
  it.each<[string, unknown, object]>([
    ['an aborted signal', AbortSignal.abort('too late'), aborted],
    ['a controller', new AbortController(), slip],
  ])('async-utils EC-4, async-utils FR-012: %s is refused before anything is called', async (_, ...given) => {
    const [signal, expected] = given as [AbortSignal, object];
    const fn = vi.fn();
    for (const [name, call] of callsOf(signal, fn)) {
      const result = outcome(call());
      expectNothingLeft();
      expect((await result).error, name).toMatchObject(expected);
    }
    expect(fn).not.toHaveBeenCalled();
  });

  it.each([
    ['in the first attempt', 10, 0, 1],
    ['in a delay', 150, 1, 1],
    ['in a later attempt', 250, 1, 2],
  ])(
    'async-utils FR-023: aborting retry %s gives AbortError at once, with the errors so far',
    async (_, at, failed, attempts) => {
      const controller = new AbortController();
      const seen = vi.fn(({ attempt }: { attempt: number }) =>
        attempt <= failed ? wait(100).then(() => Promise.reject(new Error('busy'))) : never(),
      );
      const onError = vi.fn();
      const result = outcome(retry(seen, { signal: controller.signal, onError }));
      await vi.advanceTimersByTimeAsync(at);
      controller.abort(new Error('reason'));
      const { error } = await result;
      expect(error).toBeInstanceOf(AbortError);
      expect(error).toMatchObject({
        cause: { message: 'reason' },
        errors: Array(failed).fill(expect.objectContaining({ message: 'busy' })),
      });
      expect(seen.mock.calls.at(-1)).toEqual([{ attempt: attempts, signal: controller.signal }]);
      expect(onError).toHaveBeenCalledWith(expect.objectContaining({ error, attempts }));
      expectNothingLeft(controller.signal);
    },
  );
});
