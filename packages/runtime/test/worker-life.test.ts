import { seededRng } from '@millrace/foundation';
import { latch, ManualClock, recordingLogger } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import { InMemoryQueue } from '../src/memory/queue.js';
import type { WorkerConfig } from '../src/options.js';
import type { Queue } from '../src/ports.js';
import type { WorkHandler } from '../src/process-item.js';
import { Worker } from '../src/worker.js';

function bench(handler?: WorkHandler<number>, config?: WorkerConfig<number>, queue?: Queue<number>) {
  const clock = new ManualClock();
  const { log, lines } = recordingLogger();
  const source = queue ?? new InMemoryQueue<number>({}, { clock });
  const worker = new Worker<number>(source, handler, config, { clock, rng: seededRng(1), log });
  return { clock, queue: source, worker, lines };
}

describe('runtime RT-3: start and stop', () => {
  it('runtime RT-3: start without a handler is refused, and may be tried again with one', async () => {
    const { queue, worker, clock } = bench(undefined, { name: 'mailer' });
    await expect(worker.start()).rejects.toMatchObject({
      code: 'WORKER_WITHOUT_HANDLER',
      message: expect.stringContaining('mailer'),
    });
    expect(worker.state).toBe('IDLE');
    const handler = vi.fn((_item: { payload: number }) => {});
    expect(worker.handle(handler)).toBe(handler);
    await worker.start();
    await queue.put(1);
    await clock.advance(0);
    expect(handler).toHaveBeenCalledOnce();
    await worker.stop();
  });

  it('runtime RT-3: IDLE → RUNNING → STOPPING → STOPPED; stop waits for the item in hand and takes no other', async () => {
    const gate = latch('the item may end');
    const ended: number[] = [];
    const { queue, worker, clock } = bench(async ({ payload }) => {
      await gate.promise;
      ended.push(payload);
    });
    const states = [worker.state];
    await queue.put(1);
    await queue.put(2);
    expect(worker.start()).toBe(worker.start());
    states.push(worker.state);
    await clock.advance(0);
    const stopping = worker.stop();
    states.push(worker.state);
    expect(worker.stop()).toBe(stopping);
    await clock.advance(0);
    expect(ended).toEqual([]);
    gate.open();
    await stopping;
    states.push(worker.state);
    expect(states).toEqual(['IDLE', 'RUNNING', 'STOPPING', 'STOPPED']);
    expect([ended, await queue.size()]).toEqual([[1], 1]);
  });

  it('runtime RT-3: stop does not wait for pollTimeoutMs', async () => {
    const { worker, clock } = bench(() => {}, { concurrency: 4, pollTimeoutMs: 60_000 });
    await worker.start();
    expect(clock.pendingTimers).toBe(4);
    await worker.stop();
    expect([clock.monotonicMs(), clock.pendingTimers]).toEqual([0, 0]);
  });

  it('runtime RT-3: stop waits for the retries of the item in hand', async () => {
    const tries: number[] = [];
    const { queue, worker, clock } = bench(
      (_, { attempt }) => {
        tries.push(attempt);
        if (attempt < 3) throw new Error('not yet');
      },
      { maxRetries: 5 },
    );
    await queue.put(1);
    await worker.start();
    await clock.advance(0);
    const stopping = worker.stop();
    await clock.advance(300);
    await stopping;
    expect(tries).toEqual([1, 2, 3]);
  });

  it('runtime RT-3: when the signal given to stop aborts, handlers see it and retries are given up', async () => {
    const onError = vi.fn();
    const reasons: unknown[] = [];
    const { queue, worker, clock } = bench(
      async ({ payload }, { signal }) => {
        if (payload === 1) throw new Error('not yet');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
      },
      { maxRetries: 5, concurrency: 2, onError },
    );
    await queue.put(1);
    await queue.put(2);
    await worker.start();
    await clock.advance(0);
    const patience = new AbortController();
    const stopping = worker.stop({ signal: patience.signal });
    await clock.advance(0);
    patience.abort('the grace period is over');
    await stopping;
    expect(reasons).toEqual(['the grace period is over']);
    expect(onError).toHaveBeenCalledOnce();
    expect(clock.pendingTimers).toBe(0);
  });

  it('runtime RT-3: stop is safe before start and in the same turn as start; await using stops', async () => {
    const idle = bench(() => {});
    await idle.worker.stop();
    await idle.worker.ended;
    expect(idle.worker.state).toBe('STOPPED');
    await expect(idle.worker.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });

    const hasty = bench(() => {});
    const started = hasty.worker.start();
    await hasty.worker.stop();
    await started;
    expect(hasty.worker.state).toBe('STOPPED');

    const scoped = bench(() => {});
    {
      await using worker = scoped.worker;
      await worker.start();
    }
    expect([scoped.worker.state, scoped.clock.pendingTimers]).toEqual(['STOPPED', 0]);
  });

  it('runtime RT-3: an item that arrives in the turn of stop is handled or stays, never lost', async () => {
    for (const turns of [0, 1, 2, 3, 4, 5]) {
      const seen: number[] = [];
      const { queue, worker } = bench(({ payload }) => void seen.push(payload));
      await worker.start();
      const put = queue.put(1);
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await worker.stop();
      await put;
      expect(seen.length + (await queue.size())).toBe(1);
    }
  });
});

describe('runtime RT-3: a queue that fails', () => {
  it('runtime RT-3: is looked into again after growing pauses; the state stays RUNNING', async () => {
    const clock = new ManualClock();
    const inner = new InMemoryQueue<number>({}, { clock });
    let down = true;
    let looks = 0;
    const flaky: Queue<number> = Object.create(inner, {
      closed: { get: () => inner.closed },
      get: {
        value: async (options: object) => {
          looks++;
          if (down) throw new Error('connection lost');
          return inner.get(options);
        },
      },
    });
    const { log, lines } = recordingLogger();
    const seen: number[] = [];
    const worker = new Worker<number>(flaky, ({ payload }) => void seen.push(payload), undefined, {
      clock,
      rng: seededRng(1),
      log,
    });
    await inner.put(1);
    await worker.start();
    await clock.advance(60_000);
    // 100 ms, doubled up to 10 s, each shortened by up to half.
    expect(looks).toBeGreaterThan(8);
    expect(looks).toBeLessThan(25);
    expect(worker.state).toBe('RUNNING');
    expect(lines.at(-1)).toMatchObject({ level: 'warn', message: 'The queue failed: connection lost' });
    down = false;
    await clock.advance(10_000);
    expect(seen).toEqual([1]);
    down = true;
    await clock.advance(1000);
    await worker.stop();
    expect([worker.state, clock.pendingTimers]).toEqual(['STOPPED', 0]);
  });
});

describe('runtime RT-3: bad input', () => {
  it.each([
    [{ concurrency: 0 }, 'OPTION_INVALID'],
    [{ maxRetries: -1 }, 'OPTION_INVALID'],
    [{ pollTimeoutMs: 0 }, 'OPTION_INVALID'],
    [{ backoff: 'quadratic' }, 'OPTION_INVALID'],
    [{ onError: 'log' }, 'OPTION_INVALID'],
    [{ retries: 1 }, 'OPTION_UNKNOWN'],
  ])('runtime RT-3: %o is refused', (config, code) => {
    expect(() => bench(() => {}, config as never)).toThrow(expect.objectContaining({ code }));
  });

  it('runtime RT-3: what is no queue, no function, or a second handler is refused', () => {
    const invalid = expect.objectContaining({ code: 'OPTION_INVALID' });
    expect(() => new Worker({} as never)).toThrow(invalid);
    expect(() => bench('fn' as never)).toThrow(invalid);
    const { worker } = bench(() => {});
    expect(() => worker.handle(() => {})).toThrow(invalid);
  });
});

it('runtime RT-3: worker.handle decorates a method under legacy rules', async () => {
  const { worker, queue, clock } = bench();
  class Mailer {
    static readonly sent: number[] = [];
    static send({ payload }: { payload: number }): void {
      // biome-ignore lint/complexity/noThisInStatic: that `this` is the class is what the test shows
      this.sent.push(payload);
    }
  }
  // What the compiler makes of `@worker.handle static send()`: the three arguments, and no `this`.
  const { handle } = worker;
  const descriptor = Object.getOwnPropertyDescriptor(Mailer, 'send') as TypedPropertyDescriptor<
    typeof Mailer.send
  >;
  expect(handle(Mailer, 'send', descriptor)).toBeUndefined();
  await worker.start();
  await queue.put(7);
  await clock.advance(0);
  expect(Mailer.sent).toEqual([7]);
  await worker.stop();
});
