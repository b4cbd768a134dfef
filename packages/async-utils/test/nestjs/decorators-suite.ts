import { getEventListeners } from 'node:events';
import { isRetryError, isTimeoutError, wait, waitUntil } from '@millrace/async-utils';
import { AsyncUtilsModule, attemptSignal } from '@millrace/async-utils/nestjs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { boot } from './boot.js';
import { settle } from './classes.js';

type Classes = typeof import('./classes.js');
type Misuses = typeof import('./misuses.js').MISUSES;
type Outcome = { readonly value?: unknown; readonly error?: unknown };

const outcome = (work: Promise<unknown>): Promise<Outcome> =>
  work.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );

const times = <T>(count: number, fn: () => T): T[] => Array.from({ length: count }, fn);

/** What the decorators promise, asked of one compilation of the classes. */
export function decoratorSuite(system: string, classes: Classes, misuses: Misuses): void {
  describe(`${system} decorators`, () => {
    stacking(classes);
    retrying(classes);
    timing(classes);
    limiting(classes);
    limitingClasses(classes);
    overrunning(classes);
    it.each(misuses)('async-utils %s: %s, refused in plain words', (_, __, define, message) => {
      expect(define).toThrow(message);
    });
  });
}

function stacking({ StackedController, ORDERS, TwoSignals, STOPS }: Classes): void {
  it('async-utils FR-018: the signal of an outer layer ends the inner ones, also where those have their own', async () => {
    const service = new TwoSignals();
    const ended = outcome(service.work());
    await wait(20);
    STOPS.limit.abort();
    expect(await ended).toMatchObject({ error: { code: 'ABORTED' } });
    const { tries } = service;
    await wait(20);
    expect(service.tries).toBe(tries);
    expect(getEventListeners(STOPS.retry.signal, 'abort')).toEqual([]);
  });

  it.each(ORDERS)(
    'async-utils SC-006: stacked as %s, a call is limit, then retries, then time per try',
    async (name) => {
      const app = await boot({ controllers: [StackedController] });
      const get = (id: string) => app.inject(`/stacked/${name}/${id}`);
      const responses = await Promise.all([get('a'), get('b')]);
      expect(responses.map((response) => response.json())).toEqual([
        { id: 'a', tries: 3 },
        { id: 'b', tries: 3 },
      ]);
      const { log } = app.get(StackedController);
      const [first] = log;
      expect(log.slice(0, 3)).toEqual([first, first, first]);
    },
  );
}

function retrying({ Flaky }: Classes): void {
  describe('Retryable', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('async-utils FR-013: without options or module the defaults of the library hold', async () => {
      const flaky = Object.assign(new Flaky(), { failures: 9 });
      const result = outcome(flaky.withDefaults());
      await vi.advanceTimersByTimeAsync(699);
      expect(flaky.calls).toHaveLength(3);
      await vi.advanceTimersByTimeAsync(1);
      const { error } = await result;
      expect(isRetryError(error) && error.attempts).toBe(4);
    });

    it('async-utils FR-013: the method gets the same this and arguments in every try', async () => {
      const flaky = Object.assign(new Flaky(), { failures: 2 });
      const result = flaky.fetch('id', 7);
      await vi.runAllTimersAsync();
      expect(await result).toBe('done');
      expect(flaky.calls).toEqual(times(3, () => ['id', 7]));
    });

    it('async-utils SC-006: name, length and metadata of the method are kept', () => {
      const { fetch } = Flaky.prototype;
      expect(fetch.name).toBe('fetch');
      expect(fetch.length).toBe(2);
      expect(Reflect.getMetadataKeys(fetch).toSorted()).toEqual(['above', 'below']);
    });

    it('async-utils FR-013: a method with a symbol for a name works', async () => {
      const flaky = Object.assign(new Flaky(), { failures: 1 });
      const result = flaky.callNamed();
      await vi.runAllTimersAsync();
      expect(await result).toBe('done');
    });

    it('async-utils FR-013: a static method works, with the class as this', async () => {
      Flaky.tries = 0;
      const result = Flaky.make();
      await vi.runAllTimersAsync();
      expect(await result).toBe('made');
      expect(Flaky.tries).toBe(3);
    });

    it('async-utils FR-025: a hook of the decorator that throws changes nothing', async () => {
      const flaky = Object.assign(new Flaky(), { failures: 1 });
      const result = flaky.withBadHook();
      await vi.runAllTimersAsync();
      expect(await result).toBe('done');
    });
  });
}

function timing({ Slow }: Classes): void {
  describe('Timeout', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    it('async-utils FR-014: a method that takes too long rejects with TimeoutError', async () => {
      const result = outcome(new Slow().limited());
      await vi.advanceTimersByTimeAsync(100);
      const { error } = await result;
      expect(isTimeoutError(error) && error.ms).toBe(100);
      expect(vi.getTimerCount()).toBe(0);
    });

    it('async-utils FR-014: a fallback takes the place of the error, undefined too', async () => {
      const slow = new Slow();
      const results = Promise.all([slow.withFallback(), slow.withUndefined()]);
      await vi.advanceTimersByTimeAsync(100);
      expect(await results).toEqual(['instead', undefined]);
    });

    it('async-utils FR-014: an error of its own reaches the retries, which try again', async () => {
      const result = outcome(new Slow().withError());
      await vi.advanceTimersByTimeAsync(300);
      expect((await result).error).toMatchObject({
        code: 'RETRY_EXHAUSTED',
        attempts: 3,
        cause: { message: 'ours' },
      });
    });

    it('async-utils FR-014: without a time from decorator or module the error says what to write', async () => {
      await expect(new Slow().bare()).rejects.toThrow(
        /^@Timeout on Slow\.bare has no ms: write @Timeout\(ms\), or import AsyncUtilsModule\.forRoot\(\{ timeout: \{ ms \} \}\)/,
      );
    });
  });
}

function limiting({ Limited, Counter }: Classes): void {
  describe('ConcurrencyLimit on a method', () => {
    it('async-utils FR-015: at most that many calls run at once, the others follow', async () => {
      const limited = new Limited();
      const calls = Promise.all(times(5, () => limited.work()));
      for (const running of [2, 2, 1]) {
        await settle();
        expect(limited.counter.active).toBe(running);
        limited.counter.release();
      }
      await calls;
      expect(limited.counter.most).toBe(2);
    });

    it('async-utils FR-015: each instance and each method has a limit of its own', async () => {
      const [one, two] = [new Limited(), new Limited()];
      const counter = new Counter();
      Object.assign(one, { counter });
      Object.assign(two, { counter });
      const calls = Promise.all(
        [one, two].flatMap((each) => [each.work(), each.work(), each.work(), each.other()]),
      );
      await settle();
      expect(counter.active).toBe(6);
      counter.release();
      await settle();
      counter.release();
      await calls;
    });

    it('async-utils FR-015: a method called without an object is limited as well', async () => {
      const counter = new Counter();
      const { detached } = new Limited();
      const calls = Promise.all(times(2, () => detached(counter)));
      await settle();
      counter.release();
      await settle();
      counter.release();
      await calls;
      expect(counter.most).toBe(1);
    });

    it('async-utils FR-015: without a number from decorator or module the error says what to write', async () => {
      await expect(new Limited().bare()).rejects.toThrow(
        /^@ConcurrencyLimit on Limited\.bare has no concurrency: write @ConcurrencyLimit\(concurrency\), or import AsyncUtilsModule/,
      );
    });
  });
}

function limitingClasses(classes: Classes): void {
  const { Shared, SharedChild, LimitedChild, FreeChild, RelimitedChild, BareClass } = classes;

  describe('ConcurrencyLimit on a class', () => {
    it('async-utils FR-015: one limit is shared by all methods of an instance', async () => {
      const shared = new Shared();
      const calls = [shared.second(), shared.first(), shared.third(), shared.second(), shared.first()];
      expect(await shared.counter.mostOf(calls)).toBe(2);
    });

    it('async-utils FR-015: two instances do not share', async () => {
      const [one, two] = [new Shared(), new Shared()];
      Object.assign(two, { counter: one.counter });
      const calls = [one, two].flatMap((each) => [each.first(), each.first(), each.first()]);
      expect(await one.counter.mostOf(calls)).toBe(4);
    });

    it('async-utils FR-015: a method with its own number does not take part', async () => {
      const shared = new Shared();
      const calls = [...times(3, () => shared.first()), ...times(4, () => shared.own())];
      expect(await shared.counter.mostOf(calls)).toBe(5);
    });

    it('async-utils FR-015: a method with a priority shares the limit and goes first', async () => {
      const shared = new Shared();
      const busy = [shared.first(), shared.first()];
      const waiting = [shared.patient(), shared.urgent()];
      await settle();
      shared.counter.release();
      await Promise.all([...busy, ...waiting]);
      expect(shared.order).toEqual(['urgent', 'patient']);
    });

    it('async-utils SC-006: synchronous methods and getters stay synchronous', async () => {
      const shared = new Shared();
      const busy = times(3, () => shared.first());
      expect(shared.sum(1, 2)).toBe(3);
      expect(shared.total).toBe(3);
      await shared.counter.mostOf(busy);
    });

    it('async-utils FR-015: a first call that fails while all slots are taken rejects, and only that', async () => {
      const shared = new Shared();
      const busy = times(2, () => shared.first());
      const refused = expect(shared.refusing()).rejects.toThrow('refused');
      await settle();
      await shared.counter.mostOf(busy);
      await refused;
    });

    it('async-utils SC-006: a lifecycle hook waits for no slot', async () => {
      const shared = new Shared();
      const busy = times(2, () => shared.first());
      await settle();
      await shared.onModuleDestroy();
      await Promise.all(busy);
    });

    it('async-utils FR-015: methods that call their neighbours keep their one slot and never wait for themselves', async () => {
      const shared = new Shared();
      expect(await Promise.all(times(4, () => shared.neighbours()))).toHaveLength(4);
      const alone = new Shared();
      await alone.neighbours();
      expect(alone.order).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
    });

    it('async-utils FR-015: a subclass inherits the limit, its own methods are free', async () => {
      const child = new SharedChild();
      expect(await child.counter.mostOf(times(3, () => child.second()))).toBe(2);
      const overriding = new SharedChild();
      expect(await overriding.counter.mostOf(times(3, () => overriding.first()))).toBe(2);
      const free = new SharedChild();
      expect(await free.counter.mostOf(times(3, () => free.unlimited()))).toBe(3);
    });

    it('async-utils FR-015: inherited methods share the limit of the subclass, its sister has none', async () => {
      const limited = new LimitedChild();
      expect(
        await limited.counter.mostOf([limited.inherited(), limited.decorated(), limited.inherited()]),
      ).toBe(1);
      const free = new FreeChild();
      expect(await free.counter.mostOf([free.inherited(), free.decorated(), free.inherited()])).toBe(3);
      const more = new RelimitedChild();
      expect(await more.counter.mostOf([more, more, more, more].map((each) => each.decorated()))).toBe(3);
    });

    it('async-utils FR-015: the number may come from the module', async () => {
      await expect(new BareClass().work()).rejects.toThrow(
        /@ConcurrencyLimit on BareClass\.work has no concurrency/,
      );
      const app = await boot({
        imports: [AsyncUtilsModule.forRoot({ limit: { concurrency: 1 } })],
        providers: [BareClass],
      });
      await app.get(BareClass).work();
    });
  });
}

function overrunning({ Overrunning, STOPS }: Classes): void {
  describe('an attempt that times out', () => {
    it('async-utils FR-014: ends before the next one starts if it obeys attemptSignal()', async () => {
      const service = new Overrunning();
      const [first, second] = await Promise.all([outcome(service.obey()), outcome(service.obey())]);
      expect([first, second]).toMatchObject(times(2, () => ({ error: { attempts: 3 } })));
      expect(service.counter.most).toBe(1);
      expect(service.signals.map((signal) => isTimeoutError(signal?.reason))).toEqual(times(6, () => true));
    });

    it('async-utils FR-015: with holdSlot delays the next attempt and keeps the slot until it ends', async () => {
      const service = new Overrunning();
      const { counter } = service;
      const [first, second] = [outcome(service.ignore()), outcome(service.ignore())];
      const attempt = () => waitUntil(() => counter.waiting.length === 1);
      for (const _ of [1, 2]) {
        await attempt();
        await wait(15);
        counter.release();
      }
      await attempt();
      expect(await first).toMatchObject({ error: { code: 'RETRY_EXHAUSTED', attempts: 3 } });
      await wait(5);
      expect(await counter.mostOf([second])).toBe(1);
    });

    it('async-utils FR-012: with holdSlot frees an aborted caller, and no attempt follows', async () => {
      const service = new Overrunning();
      const { counter } = service;
      const result = outcome(service.ignore());
      await wait(15);
      STOPS.hold.abort();
      expect(await result).toMatchObject({ error: { code: 'ABORTED' } });
      counter.release();
      await settle();
      expect([counter.active, counter.waiting.length]).toEqual([0, 0]);
    });
  });

  it('async-utils FR-014: attemptSignal() is that of the attempt, or of the one around it, or undefined', async () => {
    const service = new Overrunning();
    const [own, again] = await service.bare();
    expect(own).toBeInstanceOf(AbortSignal);
    expect(again).toBe(own);
    const [outer, inner] = await service.outer();
    expect(inner).toBe(outer);
    expect(attemptSignal()).toBeUndefined();
  });
}
