import { setImmediate as nextTurn } from 'node:timers/promises';
import { NonRetryableError, RateLimitedError, seededRng, type WorkContext } from '@millrace/foundation';
import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import { InMemoryQueue } from '../src/memory/queue.js';
import type { QueueItem } from '../src/model.js';
import type { WorkerConfig } from '../src/options.js';
import type { Queue } from '../src/ports.js';
import type { WorkHandler } from '../src/process-item.js';
import { Worker } from '../src/worker.js';

function bench<T = number>(handler?: WorkHandler<T>, config?: WorkerConfig<T>, queue?: Queue<T>) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const source = queue ?? new InMemoryQueue<T>({}, { clock });
  const worker = new Worker<T>(source, handler, config, { clock, rng: seededRng(1), log });
  return { clock, queue: source, worker, lines };
}

/** Fails the first `times` tries of every item, with what `error` gives. */
function failing(times: number, error: () => unknown = () => new Error('not yet')) {
  const tries: number[] = [];
  const handler: WorkHandler<number> = (_, { attempt }) => {
    tries.push(attempt);
    if (attempt <= times) throw error();
  };
  return { handler, tries };
}

describe('runtime RT-3: taking items', () => {
  it('runtime RT-3: handles items in order; the context holds attempt, idempotency key, signal and log', async () => {
    const seen: [number, WorkContext][] = [];
    const { queue, worker, clock, lines } = bench<number>(({ payload }, context) => {
      context.log.info({ payload }, 'seen');
      seen.push([payload, { ...context }]);
    });
    const items = [await queue.put(1), await queue.put(2)];
    await worker.start();
    expect(worker.state).toBe('RUNNING');
    await clock.advance(0);
    expect(seen.map(([payload]) => payload)).toEqual([1, 2]);
    const [, context] = seen[0] ?? [];
    expect(context).toMatchObject({ attempt: 1, idempotencyKey: items[0]?.id });
    expect(context?.signal.aborted).toBe(false);
    expect(lines[0]?.fields).toEqual({ worker: 'worker', item: items[0]?.id, payload: 1 });
    await worker.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('runtime RT-3: goes on after a quiet time longer than pollTimeoutMs', async () => {
    const seen: number[] = [];
    const { queue, worker, clock } = bench<number>(({ payload }) => void seen.push(payload));
    await worker.start();
    await clock.advance(10_500);
    await queue.put(1);
    await clock.advance(0);
    expect(seen).toEqual([1]);
    await worker.stop();
  });

  it('runtime RT-3: concurrency is how many items are handled at once', async () => {
    const gates = Array.from({ length: 5 }, (_, n) => latch(`item ${n} may end`));
    let running = 0;
    let most = 0;
    const { queue, worker, clock } = bench<number>(
      async ({ payload }) => {
        most = Math.max(most, ++running);
        await gates[payload]?.promise;
        running--;
      },
      { concurrency: 3 },
    );
    for (const n of gates.keys()) await queue.put(n);
    await worker.start();
    await clock.advance(0);
    expect([running, await queue.size()]).toEqual([3, 2]);
    for (const gate of gates) gate.open();
    await clock.advance(0);
    expect([running, most]).toEqual([0, 3]);
    await worker.stop();
  });

  it('runtime RT-3: stops by itself when the queue is closed and drained', async () => {
    const seen: number[] = [];
    const { queue, worker, clock } = bench<number>(({ payload }) => void seen.push(payload), {
      concurrency: 2,
    });
    for (const n of [1, 2, 3]) await queue.put(n);
    await worker.start();
    await queue.close();
    await worker.ended;
    expect([seen, worker.state]).toEqual([[1, 2, 3], 'STOPPED']);
    expect(clock.pendingTimers).toBe(0);
    await expect(worker.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
    await worker.stop();
  });

  it('runtime RT-3: a timeout just before the close leaves nothing behind', async () => {
    const seen: string[] = [];
    const item: QueueItem<string> = { id: 'late', payload: 'late', createdAt: new Date(0) };
    const answers = [null, item];
    const queue = {
      get: async () => answers.shift() ?? null,
      closed: true,
    } as unknown as Queue<string>;
    const { worker } = bench<string>(({ payload }) => void seen.push(payload), {}, queue);
    await worker.start();
    await worker.ended;
    expect(seen).toEqual(['late']);
  });

  it.each([1, 20])(
    'runtime RT-3: %i handlers that never wait leave the event loop its turns',
    async (concurrency) => {
      const queue = new InMemoryQueue<number>();
      for (let n = 0; n < 5000; n++) void queue.put(n);
      let handled = 0;
      const handler = () => {
        for (const end = performance.now() + 0.2; performance.now() < end; );
        handled++;
      };
      const worker = new Worker(queue, handler, { concurrency });
      await worker.start();
      await nextTurn();
      // All of them would take a second; a turn comes after a tenth of that.
      expect(handled).toBeLessThan(2500);
      await worker.stop();
    },
  );
});

describe('runtime RT-3: failing items', () => {
  it.each([
    ['exponential', [100, 200, 400]],
    ['linear', [1000, 1000, 1000]],
    [(attempt: number) => attempt * 7, [7, 14, 21]],
    [() => Number.NaN, [100, 200, 400]],
    [
      () => {
        throw new Error('the back-off is broken');
      },
      [100, 200, 400],
    ],
  ] as const)('runtime RT-3: is retried up to maxRetries with back-off %s', async (backoff, delays) => {
    const { handler, tries } = failing(3);
    const onError = vi.fn();
    const { queue, worker, clock } = bench(handler, { maxRetries: 3, backoff, onError });
    await queue.put(1);
    await worker.start();
    await clock.advance(0);
    for (const [index, delayMs] of delays.entries()) {
      await clock.advance(delayMs - 1);
      expect(tries).toHaveLength(index + 1);
      await clock.advance(1);
      expect(tries).toHaveLength(index + 2);
    }
    expect(tries).toEqual([1, 2, 3, 4]);
    expect(onError).not.toHaveBeenCalled();
    expect(worker.state).toBe('RUNNING');
    await worker.stop();
  });

  it('runtime RT-3: past maxRetries the state is ERROR, onError is told, the next success returns to RUNNING', async () => {
    const states: string[] = [];
    const failed: unknown[] = [];
    const { queue, worker, clock, lines } = bench<number>(
      ({ payload }) => {
        states.push(worker.state);
        if (payload < 3) throw new Error(`no ${payload}`);
      },
      {
        onError: ({ payload }, error) => void failed.push([payload, (error as Error).message, worker.state]),
      },
    );
    for (const n of [1, 2, 3, 4]) await queue.put(n);
    await worker.start();
    await clock.advance(0);
    expect(failed).toEqual([
      [1, 'no 1', 'ERROR'],
      [2, 'no 2', 'ERROR'],
    ]);
    expect(states).toEqual(['RUNNING', 'ERROR', 'ERROR', 'RUNNING']);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(2);
    await worker.stop();
    expect(worker.state).toBe('STOPPED');
  });

  it('runtime RT-3: stopOnError ends the worker in ERROR and leaves the rest in the queue', async () => {
    const gate = latch('the other item may end');
    const ended: number[] = [];
    const { queue, worker, clock } = bench<number>(
      async ({ payload }) => {
        if (payload === 1) throw new Error('no');
        await gate.promise;
        ended.push(payload);
      },
      { stopOnError: true, concurrency: 2 },
    );
    for (const n of [1, 2, 3]) await queue.put(n);
    await worker.start();
    await clock.advance(0);
    expect(worker.state).toBe('ERROR');
    gate.open();
    await worker.ended;
    expect([ended, worker.state, await queue.size()]).toEqual([[2], 'ERROR', 1]);
    await expect(worker.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
    await worker.stop();
    expect(worker.state).toBe('STOPPED');
  });

  it('runtime RT-3: NonRetryableError is final; RateLimitedError says when to come back', async () => {
    const final = failing(9, () => new NonRetryableError('never'));
    const onError = vi.fn();
    const first = bench(final.handler, { maxRetries: 5, onError });
    await first.queue.put(1);
    await first.worker.start();
    await first.clock.advance(60_000);
    expect(final.tries).toEqual([1]);
    expect(onError).toHaveBeenCalledOnce();
    await first.worker.stop();

    const limited = failing(1, () => new RateLimitedError({ retryAfterMs: 5000 }));
    const second = bench(limited.handler, { maxRetries: 5 });
    await second.queue.put(1);
    await second.worker.start();
    await second.clock.advance(4999);
    expect(limited.tries).toEqual([1]);
    await second.clock.advance(1);
    expect(limited.tries).toEqual([1, 2]);
    await second.worker.stop();
  });

  const hostile = new Proxy(
    {},
    {
      get() {
        throw new Error('no access');
      },
    },
  );
  it.each([
    ['undefined', undefined],
    ['null', null],
    ['a text', 'boom'],
    ['a proxy that throws', hostile],
  ])('runtime RT-3: a handler, an onError and a logger that throw %s end nothing', async (_, thrown) => {
    const raise = () => {
      throw thrown;
    };
    const seen: unknown[] = [];
    const queue = new InMemoryQueue<number>();
    const log = { debug: raise, info: raise, warn: raise, error: raise, child: () => log };
    const worker = new Worker<number>(
      queue,
      ({ payload }) => (payload === 1 ? raise() : void seen.push(payload)),
      {
        maxRetries: 1,
        backoff: () => 0,
        onError: (_item, error) => {
          seen.push(error);
          raise();
        },
      },
      { log },
    );
    await queue.put(1);
    await queue.put(2);
    await worker.start();
    await queue.close();
    await worker.ended;
    expect(seen[0]).toBe(thrown);
    expect(seen[1]).toBe(2);
  });
});
