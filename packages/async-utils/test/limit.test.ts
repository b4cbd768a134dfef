import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { AbortError, type LimitFunction, limitFunction, pLimit, wait } from '../src/index.js';
import { expectNothingLeft, outcome, outcomeAfter, useFakeTime } from './leftovers.js';

useFakeTime();

describe('priority', () => {
  const orderOf = async (limit: LimitFunction, submit: (note: (name: string) => () => void) => unknown) => {
    const order: string[] = [];
    limit(() => wait(1));
    submit((name) => () => void order.push(name));
    await outcomeAfter(limit.onIdle());
    return order;
  };

  it('async-utils FR-007: larger first, first in first out within one, 5 by default', async () => {
    const limit = pLimit(1);
    const order = await orderOf(limit, (note) => {
      limit.run(note('low'), { priority: 0 });
      limit(note('usual 1'));
      limit.run(note('high 1'), { priority: 10 });
      limit.run(note('usual 2'));
      limit.run(note('high 2'), { priority: 10 });
      limit.run(note('six'), { priority: 6 });
    });
    expect(order).toEqual(['high 1', 'high 2', 'six', 'usual 1', 'usual 2', 'low']);
  });

  it('async-utils FR-007: the limit may set another default, and map takes a priority', async () => {
    const limit = pLimit({ concurrency: 1, priority: 2 });
    const order = await orderOf(limit, (note) => {
      limit(note('usual'));
      limit.map(['a', 'b'], (item) => note(item)(), { priority: 3 });
    });
    expect(order).toEqual(['a', 'b', 'usual']);
  });
});

describe('slots', () => {
  it('a newcomer never overtakes an accepted task, not even in the tick in which a slot is handed over', async () => {
    const limit = pLimit(1);
    const order: string[] = [];
    const first = limit(() => order.push('first'));
    const accepted = limit(() => order.push('accepted'));
    first.then(() => limit(() => order.push('newcomer')));
    await first;
    const later = limit(() => order.push('later'));
    await Promise.all([accepted, later]);
    expect(order.slice(0, 2)).toEqual(['first', 'accepted']);
  });

  it('onIdle resolves each time that nothing runs or waits, and at once if that is so', async () => {
    const limit = pLimit(2);
    await limit.onIdle();
    for (const _ of [1, 2]) {
      const idle = vi.fn();
      const all = [1, 2, 3].map(() => limit(() => wait(10)));
      limit.onIdle().then(idle);
      limit.onIdle().then(idle);
      await vi.advanceTimersByTimeAsync(10);
      expect(idle).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(10);
      expect(idle).toHaveBeenCalledTimes(2);
      await Promise.all(all);
    }
  });

  it('hooks hear of every task', async () => {
    const hooks = { onSuccess: vi.fn(), onError: vi.fn() };
    const limit = pLimit({ concurrency: 1, ...hooks });
    const error = new Error('x');
    const all = [limit(() => wait(5)), limit(() => Promise.reject(error))];
    await outcomeAfter(Promise.allSettled(all));
    expect(hooks.onSuccess.mock.calls).toEqual([[{ attempts: 1, durationMs: 5 }]]);
    expect(hooks.onError.mock.calls).toEqual([[{ error, attempts: 1, durationMs: 0 }]]);
  });
});

describe('abort', () => {
  it('async-utils FR-012: abort while running frees the caller, passes the signal on, and keeps the slot until the work ends', async () => {
    const limit = pLimit(1);
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const work = async (signal: AbortSignal | undefined) => {
      seen = signal;
      await wait(50);
      throw new Error('not unhandled');
    };
    const running = outcome(limit.run(work, { signal: controller.signal }));
    const next = limit(() => 'next');
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    expect((await running).error).toBeInstanceOf(AbortError);
    expect(seen).toBe(controller.signal);
    expect(limit.activeCount).toBe(1);
    await vi.advanceTimersByTimeAsync(40);
    expect(await next).toBe('next');
    await vi.runAllTimersAsync();
    expect(limit.activeCount).toBe(0);
    expectNothingLeft(controller.signal);
  });

  it('a task that was given its slot but had not started yet never starts after an abort', async () => {
    const limit = pLimit(1);
    const controller = new AbortController();
    const fn = vi.fn();
    const task = outcome(limit.run(fn, { signal: controller.signal }));
    controller.abort();
    expect((await task).error).toBeInstanceOf(AbortError);
    await limit.onIdle();
    expect(fn).not.toHaveBeenCalled();
    expect(limit.activeCount).toBe(0);
  });

  it('clearQueue leaves no listener behind, with and without rejection', async () => {
    for (const rejectOnClear of [false, true]) {
      const limit = pLimit({ concurrency: 1, rejectOnClear });
      const controller = new AbortController();
      const first = limit(() => wait(1));
      const cleared = outcome(limit.run(() => 1, { signal: controller.signal }));
      limit.clearQueue();
      expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
      if (rejectOnClear) expect((await cleared).error).toBeInstanceOf(AbortError);
      await vi.runAllTimersAsync();
      await first;
    }
  });
});

it('limitFunction keeps `this`', async () => {
  function next(this: { step: number }, from: number) {
    return from + this.step;
  }
  const counter = { step: 2, next: limitFunction(next, { concurrency: 1 }) };
  expect(await counter.next(1)).toBe(3);
});
