import { AsyncLocalStorage } from 'node:async_hooks';
import theirLimit, { limitFunction as theirLimitFunction } from 'p-limit';
import { describe, expect, it, vi } from 'vitest';
import { limitFunction, pLimit, wait } from '../src/index.js';
import { outcome, throwing, useFakeTime } from './leftovers.js';

useFakeTime();

const later = <T>(ms: number, value?: T) => wait(ms, { value });

// Everything that p-limit 7 documents, run against p-limit itself and against ours.
describe.each([
  ['p-limit', theirLimit, theirLimitFunction],
  ['ours', pLimit, limitFunction],
] as unknown as [string, typeof pLimit, typeof limitFunction][])(
  'async-utils FR-006: as p-limit 7 does: %s',
  (_, make, wrap) => {
    it('runs at most `concurrency` tasks at once, in the order they came', async () => {
      const limit = make(2);
      const started: number[] = [];
      let running = 0;
      let most = 0;
      const tasks = [300, 200, 100, 50].map((ms, index) =>
        limit(async () => {
          started.push(index);
          most = Math.max(most, ++running);
          await later(ms);
          running--;
          return index;
        }),
      );
      await vi.runAllTimersAsync();
      expect(await Promise.all(tasks)).toEqual([0, 1, 2, 3]);
      expect(started).toEqual([0, 1, 2, 3]);
      expect(most).toBe(2);
    });

    it('takes an options object, and Infinity', async () => {
      expect(make({ concurrency: 3 }).concurrency).toBe(3);
      const limit = make(Number.POSITIVE_INFINITY);
      const tasks = Array.from({ length: 100 }, () => limit(() => later(10)));
      expect([limit.activeCount, limit.pendingCount]).toEqual([100, 0]);
      await vi.runAllTimersAsync();
      await Promise.all(tasks);
    });

    it('passes arguments on and accepts plain functions and values', async () => {
      const limit = make(1);
      const sum = (a: number, b: number) => a + b;
      expect(await limit(sum, 2, 3)).toBe(5);
      expect(await limit(() => Promise.resolve('async'))).toBe('async');
    });

    it('starts tasks asynchronously, also when a slot is free', async () => {
      const limit = make(1);
      const fn = vi.fn();
      const task = limit(fn);
      expect(fn).not.toHaveBeenCalled();
      expect([limit.activeCount, limit.pendingCount]).toEqual([1, 0]);
      await task;
      expect(fn).toHaveBeenCalledOnce();
    });

    it('a failure, sync or async, reaches its caller alone and frees the slot', async () => {
      const limit = make(1);
      const async = () => Promise.reject(new Error('async'));
      const failures = [outcome(limit(throwing(new Error('sync')))), outcome(limit(async))];
      const good = limit(() => 'good');
      expect(await Promise.all(failures)).toMatchObject([
        { error: { message: 'sync' } },
        { error: { message: 'async' } },
      ]);
      expect(await good).toBe('good');
      await vi.runAllTimersAsync();
      expect(limit.activeCount).toBe(0);
    });

    it('async-utils FR-009: counts what runs and what waits', async () => {
      const limit = make(5);
      const tasks = Array.from({ length: 8 }, () => limit(() => later(100)));
      expect([limit.activeCount, limit.pendingCount]).toEqual([5, 3]);
      await vi.advanceTimersByTimeAsync(100);
      expect([limit.activeCount, limit.pendingCount]).toEqual([3, 0]);
      await vi.advanceTimersByTimeAsync(100);
      expect([limit.activeCount, limit.pendingCount]).toEqual([0, 0]);
      await Promise.all(tasks);
    });

    it('clearQueue drops what waits and leaves what runs; the dropped promises stay pending', async () => {
      const limit = make(1);
      const first = limit(() => later(10, 'first'));
      const dropped = vi.fn();
      limit(() => later(10)).then(dropped, dropped);
      limit.clearQueue();
      expect(limit.pendingCount).toBe(0);
      await vi.runAllTimersAsync();
      expect(await first).toBe('first');
      expect(dropped).not.toHaveBeenCalled();
      expect(limit.activeCount).toBe(0);
    });

    it('rejectOnClear rejects what waited with an AbortError', async () => {
      const limit = make({ concurrency: 1, rejectOnClear: true });
      const first = limit(() => later(10, 'first'));
      const waiting = [outcome(limit(() => later(10))), outcome(limit(() => later(10)))];
      limit.clearQueue();
      for (const { error } of await Promise.all(waiting)) expect(error).toMatchObject({ name: 'AbortError' });
      await vi.runAllTimersAsync();
      expect(await first).toBe('first');
    });

    it('async-utils FR-008: a raised limit starts as many as now fit, a lowered one lets the running finish', async () => {
      const limit = make(1);
      let running = 0;
      const tasks = Array.from({ length: 10 }, () =>
        limit(async () => {
          running++;
          await later(100);
          running--;
        }),
      );
      await vi.advanceTimersByTimeAsync(0);
      expect(running).toBe(1);
      limit.concurrency = 4;
      await vi.advanceTimersByTimeAsync(0);
      expect([limit.concurrency, running, limit.activeCount]).toEqual([4, 4, 4]);
      limit.concurrency = 2;
      await vi.advanceTimersByTimeAsync(0);
      expect(running).toBe(4);
      await vi.advanceTimersByTimeAsync(100);
      expect(running).toBe(2);
      await vi.runAllTimersAsync();
      await Promise.all(tasks);
    });

    it('keeps the async context of the caller, also for tasks that waited', async () => {
      const storage = new AsyncLocalStorage<number>();
      const limit = make(1);
      const seen = await Promise.all(
        [1, 2, 3].map((id) => storage.run(id, () => limit(async () => storage.getStore()))),
      );
      expect(seen).toEqual([1, 2, 3]);
    });

    it('map gives results in order and passes item and index', async () => {
      const limit = make(2);
      const result = limit.map(new Set(['a', 'b', 'c']), async (item, index) => {
        await later(30 - index * 10);
        return item + index;
      });
      await vi.runAllTimersAsync();
      expect(await result).toEqual(['a0', 'b1', 'c2']);
    });

    it('map rejects with the error of a broken iterable; accepted items still run', async () => {
      const limit = make(2);
      const fn = vi.fn(async () => Promise.reject(new Error('item')));
      function* broken() {
        yield 1;
        yield 2;
        throw new Error('iterable');
      }
      await expect(limit.map(broken(), fn)).rejects.toThrow('iterable');
      await vi.runAllTimersAsync();
      expect(fn).toHaveBeenCalledTimes(2);
    });

    it('limitFunction wraps one function, with clearQueue', async () => {
      let running = 0;
      let most = 0;
      const double = async (value: number) => {
        most = Math.max(most, ++running);
        await later(10);
        running--;
        return value * 2;
      };
      const limited = wrap(double, { concurrency: 2 });
      const results = [1, 2, 3].map((value) => limited(value));
      const dropped = vi.fn();
      limited(4).then(dropped, dropped);
      await vi.advanceTimersByTimeAsync(0);
      limited.clearQueue();
      await vi.runAllTimersAsync();
      expect(await Promise.all(results.slice(0, 2))).toEqual([2, 4]);
      expect(most).toBe(2);
      expect(dropped).not.toHaveBeenCalled();
    });

    it('async-utils EC-1: refuses a concurrency below 1 or that is no integer', () => {
      for (const bad of [0, -1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, '1', undefined, true, {}])
        expect(() => make(bad as number), String(bad)).toThrow(TypeError);
      const limit = make(2);
      for (const bad of [0, -1, 1.5, Number.NaN]) {
        expect(() => {
          limit.concurrency = bad;
        }).toThrow(TypeError);
        expect(limit.concurrency).toBe(2);
      }
      expect(() => make({ concurrency: 1, rejectOnClear: 1 as unknown as boolean })).toThrow(TypeError);
    });
  },
);
