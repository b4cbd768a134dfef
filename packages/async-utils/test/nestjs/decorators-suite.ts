import { setImmediate } from 'node:timers/promises';
import { isAbortError, isTimeoutError, wait, waitUntil } from '@millrace/async-utils';
import { attemptSignal, ConcurrencyLimit, Retryable, Timeout } from '@millrace/async-utils/nestjs';
import { describe, expect, it, vi } from 'vitest';
import { expectNothingLeft, outcome, throwing, times } from '../leftovers.js';
import { Counter } from './counter.js';

const again = { retries: 2, backoff: () => 0 };
const never = () => new Promise<never>(() => {});

/** Tests of the decorators together. This file is compiled by the rules of each decorator system. */
export function decoratorSuite(system: string): void {
  describe(`${system} decorators`, () => {
    describe('together', together);
    describe('Retryable', retrying);
    describe('Timeout', timing);
    describe('an attempt that times out', overrunning);
    describe('a decorator in the wrong place', misplacing);
  });
}

function together(): void {
  const layers = { limit: ConcurrencyLimit(1), retry: Retryable(again), time: Timeout(15) };
  it.each([
    ['limit', 'retry', 'time'],
    ['limit', 'time', 'retry'],
    ['retry', 'limit', 'time'],
    ['retry', 'time', 'limit'],
    ['time', 'limit', 'retry'],
    ['time', 'retry', 'limit'],
  ] as const)('async-utils SC-006: %s, %s, %s nest as limit, retry, time limit', async (...order) => {
    const [first, second, third] = order.map((name) => layers[name]) as [Layer, Layer, Layer];
    type Layer = typeof layers.time;
    class Stacked {
      readonly log: string[] = [];

      @first
      @second
      @third
      async work(id: string): Promise<number> {
        this.log.push(id);
        const attempts = this.log.filter((entry) => entry === id).length;
        if (attempts === 1) return never();
        if (attempts === 2) throw new Error('second attempt');
        return attempts;
      }
    }
    const stacked = new Stacked();
    expect(await Promise.all([stacked.work('a'), stacked.work('b')])).toEqual([3, 3]);
    expect(stacked.log.join('')).toBe('aaabbb');
  });

  /** A class whose method never ends, with the signal in the options of some decorators. */
  function hanging(...at: ('limit' | 'retry' | 'time')[]) {
    const controllers = at.map(() => new AbortController());
    const signalOf = (layer: (typeof at)[number]) => controllers[at.indexOf(layer)]?.signal;
    class Hanging {
      readonly signals: unknown[] = [];

      @Timeout({ ms: 50, signal: signalOf('time') })
      @Retryable({ retries: 1000, backoff: () => 1, signal: signalOf('retry') })
      @ConcurrencyLimit({ concurrency: 1, signal: signalOf('limit') })
      async work(): Promise<void> {
        this.signals.push(attemptSignal());
        return never();
      }
    }
    return { instance: new Hanging(), controllers };
  }

  it.each([[['limit']], [['retry']], [['time']], [['limit', 'retry']]] as const)(
    'async-utils FR-012: the first signal of %j ends all layers',
    async (at) => {
      vi.useFakeTimers();
      const { instance, controllers } = hanging(...at);
      const result = outcome(instance.work());
      await vi.advanceTimersByTimeAsync(40);
      controllers[0]?.abort('stop');
      const { error } = await result;
      expect(isAbortError(error) && error.cause).toBe('stop');
      expectNothingLeft(...controllers.map(({ signal }) => signal));
      await vi.advanceTimersByTimeAsync(10_000);
      expect(instance.signals).toMatchObject([{ aborted: true }]);
      vi.useRealTimers();
    },
  );

  it('async-utils FR-012: an aborted call leaves the queue', async () => {
    const { instance, controllers } = hanging('limit');
    const results = [outcome(instance.work()), outcome(instance.work())];
    await setImmediate();
    controllers[0]?.abort();
    for (const { error } of await Promise.all(results)) expect(isAbortError(error)).toBe(true);
    expect(instance.signals).toHaveLength(1);
  });
}

function retrying(): void {
  /** Sets metadata on a method under either decorator system, as Nest's decorators do under the legacy one. */
  const mark =
    (key: string) =>
    (target: object, _: unknown, descriptor?: PropertyDescriptor): void =>
      Reflect.defineMetadata(key, true, descriptor?.value ?? target);

  it('async-utils SC-006: keeps this, arguments, name, length and metadata of a method', async () => {
    const named = Symbol('named');
    const seen: unknown[][] = [];
    class Flaky {
      @mark('above')
      @Retryable(again)
      @mark('below')
      async fetch(id: string, count: number): Promise<string> {
        seen.push([this, id, count]);
        if (seen.length < 3) throw new Error('not yet');
        return 'done';
      }

      @Retryable({ ...again, onRetry: throwing(new Error('hook')) })
      async [named](): Promise<string> {
        return this.fetch('id', 7);
      }
    }
    const flaky = new Flaky();
    expect(await flaky[named]()).toBe('done');
    expect(seen).toEqual(times(3, () => [flaky, 'id', 7]));
    expect([flaky.fetch.name, flaky.fetch.length]).toEqual(['fetch', 2]);
    expect(Reflect.getMetadataKeys(flaky.fetch).toSorted()).toEqual(['above', 'below']);
  });

  it('async-utils FR-013: works on a static method, with the class as this', async () => {
    class Maker {
      static attempts = 0;

      @Retryable(again)
      static async make(): Promise<number> {
        // biome-ignore lint/complexity/noThisInStatic: the test checks `this`
        if (++this.attempts < 3) throw new Error('not yet');
        return Maker.attempts;
      }
    }
    expect(await Maker.make()).toBe(3);
  });
}

function timing(): void {
  it('async-utils FR-014: without a time limit from decorator or module says what to write', async () => {
    class Slow {
      @Timeout()
      async work(): Promise<void> {}
    }
    await expect(new Slow().work()).rejects.toThrow(
      '@Timeout on Slow.work has no ms: write @Timeout(ms), or import AsyncUtilsModule.forRoot({ timeout: { ms } })',
    );
  });
}

function overrunning(): void {
  it('async-utils FR-014: ends before the next one starts if it obeys attemptSignal()', async () => {
    const counter = new Counter();
    const signals: (AbortSignal | undefined)[] = [];
    class Obeying {
      /** Ends as streams do: a turn of the event loop after the abort. */
      @ConcurrencyLimit(1)
      @Retryable(again)
      @Timeout(10)
      async work(): Promise<void> {
        const signal = attemptSignal();
        signals.push(signal);
        const end = () => process.nextTick(() => counter.release());
        signal?.addEventListener('abort', () => queueMicrotask(end));
        await counter.run();
      }
    }
    const service = new Obeying();
    const results = await Promise.all([outcome(service.work()), outcome(service.work())]);
    expect(results).toMatchObject(times(2, () => ({ error: { attempts: 3 } })));
    expect(counter.most).toBe(1);
    expect(signals.map((signal) => isTimeoutError(signal?.reason))).toEqual(times(6, () => true));
  });

  function ignoring() {
    const counter = new Counter();
    const controller = new AbortController();
    class Ignoring {
      @ConcurrencyLimit({ concurrency: 1, holdSlot: true })
      @Retryable(again)
      @Timeout({ ms: 10, signal: controller.signal })
      async work(): Promise<void> {
        await counter.run();
      }
    }
    return { service: new Ignoring(), counter, controller };
  }

  it('async-utils FR-015: with holdSlot delays the next attempt and keeps the slot until it ends', async () => {
    const { service, counter } = ignoring();
    const [first, second] = [outcome(service.work()), outcome(service.work())];
    const attempt = () => waitUntil(() => counter.active === 1);
    for (const _ of [1, 2]) {
      await attempt();
      await wait(15);
      counter.release();
      await setImmediate();
    }
    await attempt();
    expect(await first).toMatchObject({ error: { code: 'RETRY_EXHAUSTED', attempts: 3 } });
    await wait(5);
    expect(await counter.mostOf([second])).toBe(1);
  });

  it('async-utils FR-012: with holdSlot frees an aborted caller, and no attempt follows', async () => {
    const { service, counter, controller } = ignoring();
    const result = outcome(service.work());
    await wait(15);
    controller.abort();
    expect(await result).toMatchObject({ error: { code: 'ABORTED' } });
    counter.release();
    await setImmediate();
    expect(counter.active).toBe(0);
  });

  it('async-utils FR-014: has its own signal, or that of the attempt around it, and none outside', async () => {
    class Nested {
      @Retryable()
      async inner(): Promise<unknown[]> {
        return [attemptSignal(), attemptSignal()];
      }

      @Timeout(1000)
      async outer(): Promise<unknown[]> {
        return [attemptSignal(), ...(await this.inner())];
      }
    }
    const nested = new Nested();
    const [own, same] = await nested.inner();
    expect(own).toBeInstanceOf(AbortSignal);
    expect(same).toBe(own);
    const [outer, inner] = await nested.outer();
    expect(inner).toBe(outer);
    expect(attemptSignal()).toBeUndefined();
  });
}

function misplacing(): void {
  it('async-utils FR-013, async-utils FR-014: is refused on what is no method', () => {
    expect(() => {
      // @ts-expect-error not a method
      @Retryable()
      class Wrong {}
      return Wrong;
    }).toThrow('@Retryable must stand on a method, got class Wrong');
    expect(() => {
      class Wrong {
        // @ts-expect-error not a method
        @Timeout(5)
        get value() {
          return 1;
        }
      }
      return Wrong;
    }).toThrow('@Timeout must stand on a method, got');
  });

  it('async-utils FR-014, async-utils FR-015: is refused twice on one method or class', () => {
    expect(() => {
      class Wrong {
        @Timeout(5)
        @Retryable()
        @Timeout(6)
        async work() {}
      }
      return Wrong;
    }).toThrow('@Timeout stands twice on work');
    expect(() => {
      @ConcurrencyLimit(1)
      @ConcurrencyLimit(2)
      class Wrong {}
      return Wrong;
    }).toThrow('@ConcurrencyLimit stands twice on class Wrong');
  });
}
