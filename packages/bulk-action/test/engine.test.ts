import { NonRetryableError, seededRng } from '@millrace/foundation';
import { ManualClock, recordingLogger, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import {
  BulkActionEngine,
  type BulkActionEngineOptions,
  defineProcessor,
  type Job,
  MemoryStore,
  resolveBulkActionConfig,
} from '../src/index.js';
import { code, jobs } from './on-memory.js';

/** Moves the clock until something holds. */
async function pass(clock: ManualClock, what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let step = 0; step < 1000; step++) {
    if (await holds()) return;
    await clock.advance(50);
  }
  expect.fail(`expected ${what} within 50 s of the clock`);
}

function engineOf(options: BulkActionEngineOptions = {}) {
  const clock = new ManualClock();
  const engine = new BulkActionEngine({ clock, rng: seededRng('engine'), ...options });
  const ended = (groupId: string) =>
    pass(clock, `${groupId} to end`, async () => (await engine.service.getResult(groupId)) !== undefined);
  return { clock, engine, ended };
}

describe('BulkActionEngine', () => {
  it('bulk-action BA-5: runs what is handed in and adds it up', async () => {
    const seen: Job[] = [];
    const processor = defineProcessor({ type: 'mail', process: (job) => void seen.push(job) });
    const { clock, engine, ended } = engineOf({ processors: [processor] });
    await engine.start();
    await engine.service.submitBulk({ id: 'news', tenant: 'acme' }, jobs(20, { payload: { to: 'Ada' } }));
    await ended('acme/news');
    expect(await engine.service.getResult('acme/news')).toMatchObject({
      status: 'COMPLETED',
      success: 20,
      failed: 0,
    });
    expect(new Set(seen.map(({ id }) => id)).size).toBe(20);
    expect(seen[0]).toMatchObject({
      groupId: 'acme/news',
      tenant: 'acme',
      payload: { to: 'Ada' },
      retryCount: 0,
    });
    await engine.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: processors are closed when no job runs any more, each once, also beside one that fails', async () => {
    const { log, lines } = recordingLogger();
    const order: string[] = [];
    const processors = [
      defineProcessor({
        type: 'mail',
        process: () => void order.push('job'),
        close: () => void order.push('mail closed'),
      }),
      defineProcessor({
        type: 'push',
        process() {},
        close: () => Promise.reject(new Error('the socket is stuck')),
      }),
      defineProcessor({ type: 'plain', process() {} }),
    ];
    const { engine, ended } = engineOf({ processors, log });
    await engine.start();
    await engine.service.submitBulk({ id: 'news' }, jobs(1));
    await ended('news');
    await Promise.all([engine.stop(), engine.stop()]);
    expect(order).toEqual(['job', 'mail closed']);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'A processor could not be closed' }),
    );
  });

  it('bulk-action BA-10: a processor that never closes does not hold the stop up', async () => {
    const processor = defineProcessor({
      type: 'mail',
      process() {},
      close: () => new Promise<void>(() => {}),
    });
    const { clock, engine } = engineOf({ processors: [processor] });
    await engine.start();
    let stopped = false;
    const stopping = engine.stop().then(() => {
      stopped = true;
    });
    await pass(clock, 'the stop', async () => stopped);
    await stopping;
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-8: what fails for good is a dead letter, and goes through after a redrive', async () => {
    let broken = true;
    const processor = defineProcessor({
      type: 'mail',
      process() {
        if (broken) throw new Error('the post office is closed');
        return 'sent';
      },
    });
    const { engine, ended, clock } = engineOf({
      processors: [processor],
      config: { workerPool: { maxRetryCount: 1 } },
    });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, jobs(3));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({ failed: 3 });
    expect(await engine.deadLetters.signatures()).toMatchObject([{ count: 3 }]);
    broken = false;
    expect(await engine.deadLetters.redrive({ all: true })).toBe(3);
    await pass(clock, 'round 2', async () => (await engine.service.getResult('g'))?.round === 2);
    expect(await engine.service.getResult('g')).toMatchObject({ success: 3, failed: 0 });
  });

  it('bulk-action BA-8: a failure that another try cannot help is no dead letter', async () => {
    const processor = defineProcessor({
      type: 'mail',
      process() {
        throw new NonRetryableError('no such address');
      },
    });
    const { engine, ended } = engineOf({ processors: [processor] });
    await using _ = engine;
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, jobs(2));
    await ended('g');
    expect(await engine.service.getResult('g')).toMatchObject({
      failed: 2,
      failedByCode: { NON_RETRYABLE: 2 },
    });
    expect((await engine.deadLetters.list()).items).toEqual([]);
  });

  it('bulk-action BA-18: two engines on one store share the work, each job once', async () => {
    const clock = new ManualClock();
    const config = { workerPool: { workerCount: 2 } };
    const store = new MemoryStore(resolveBulkActionConfig(config), { clock });
    const ran = new Map<string, string>();
    const engines = ['one', 'two'].map((name) => {
      const processor = defineProcessor({
        type: 'mail',
        process: ({ id }) =>
          new Promise<void>((resolve) => {
            expect(ran.has(id)).toBe(false);
            ran.set(id, name);
            clock.setTimer(10, resolve);
          }),
      });
      return new BulkActionEngine({ store, config, clock, rng: seededRng(name), processors: [processor] });
    });
    for (const engine of engines) await engine.start();
    const [{ service }] = engines as [BulkActionEngine, BulkActionEngine];
    await service.submitBulk({ id: 'g' }, jobs(40));
    await pass(clock, 'the end', async () => (await service.getResult('g')) !== undefined);
    expect(await service.getResult('g')).toMatchObject({ success: 40 });
    expect(new Set(ran.values())).toEqual(new Set(['one', 'two']));
    for (const engine of engines) await engine.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-12: enabled: false only hands in, and another engine runs it', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const producer = new BulkActionEngine({ store, clock, config: { workerPool: { enabled: false } } });
    await producer.start();
    await producer.service.submitBulk({ id: 'g' }, jobs(3));
    await clock.advance(5000);
    expect(await producer.service.getProgress('g')).toMatchObject({ done: 0, pending: 3 });
    const consumer = new BulkActionEngine({ store, clock, processors: [{ type: 'mail', process: () => 1 }] });
    await consumer.start();
    await pass(
      clock,
      'the end',
      async () => (await producer.service.getProgress('g')).status === 'COMPLETED',
    );
    await consumer.stop();
    await producer.stop();
  });

  it('processors may come later; a second one of a type is refused', async () => {
    const { engine, ended } = engineOf();
    await using _ = engine;
    engine.processors.register({ type: 'mail', process: () => 1 });
    expect(() => engine.processors.register({ type: 'mail', process: () => 2 })).toThrow(
      expect.objectContaining(code('PROCESSOR_CONFLICT')),
    );
    await engine.start();
    await engine.service.submitBulk({ id: 'g' }, jobs(1));
    await ended('g');
  });

  it('bulk-action BA-10: starts the store before the pool and stops it after; both once', async () => {
    const order: string[] = [];
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const { engine } = engineOf({ store, clock });
    const pool = () => engine.pool.getPoolStatus();
    Object.assign(store, {
      start: async () => void order.push(`store starts, fetcher ${pool().fetcherRunning}`),
      stop: async () => void order.push(`store stops, fetcher ${pool().fetcherRunning}`),
    });
    await Promise.all([engine.start(), engine.start()]);
    expect(pool()).toMatchObject({ fetcherRunning: true, dispatcherRunning: true, isShuttingDown: false });
    await Promise.all([engine.stop(), engine.stop()]);
    expect(order).toEqual(['store starts, fetcher false', 'store stops, fetcher false']);
    expect(pool()).toMatchObject({ isShuttingDown: true });
    await expect(engine.start()).rejects.toMatchObject(code('SERVICE_STOPPED'));
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: a store that does not open ends the start, and nothing runs', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const { engine } = engineOf({ store, clock });
    const down = new Error('connection refused');
    Object.assign(store, { start: () => Promise.reject(down) });
    await expect(engine.start()).rejects.toBe(down);
    expect(engine.pool.getPoolStatus()).toMatchObject({ fetcherRunning: false });
    await engine.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: when the pool does not start, the store is closed again', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const { engine } = engineOf({ store, clock });
    let closed = 0;
    Object.assign(store, { stop: async () => void closed++ });
    await engine.pool.stop();
    await expect(engine.start()).rejects.toMatchObject(code('SERVICE_STOPPED'));
    expect(closed).toBe(1);
  });

  it('bulk-action BA-10: `await using` ends it, on the machine’s own clock too', async () => {
    let stopped: BulkActionEngine;
    {
      await using engine = new BulkActionEngine({ processors: [{ type: 'mail', process: () => 'sent' }] });
      stopped = engine;
      await engine.start();
      await engine.service.submitBulk({ id: 'g' }, jobs(5));
      await until(async () => (await engine.service.getProgress('g')).status === 'COMPLETED', {
        what: 'the group to complete',
      });
      expect(await engine.idempotency.runOnce('k', () => 1)).toBe(1);
      expect(await engine.backpressure.checkRate('g')).toMatchObject({ allowed: true });
    }
    expect(stopped.pool.getPoolStatus()).toMatchObject({ isShuttingDown: true, fetcherRunning: false });
  });

  const mail = (more: object) => ({ processors: [{ type: 'mail', process: () => 0, ...more }] });

  it.each([
    [{ procesors: [] }, 'OPTION_UNKNOWN', "did you mean 'processors'?"],
    [{ processors: {} }, 'OPTION_INVALID', 'processors must be a list of processors'],
    [{ processors: [{ type: 'x' }] }, 'OPTION_INVALID', 'process must be a function'],
    [mail({ resource: 5 }), 'OPTION_INVALID', 'resource must be a text'],
    [mail({ retry: { retires: 5 } }), 'OPTION_UNKNOWN', "did you mean 'retry.retries'?"],
    [mail({ retry: { retries: Number.NaN } }), 'OPTION_INVALID', 'retry.retries must be an integer'],
    [mail({ retry: { retries: 1, backoff: 'expo' } }), 'OPTION_INVALID', 'retry.backoff must be'],
    [mail({ retry: { retries: 1, jitter: 2 } }), 'OPTION_INVALID', 'retry.jitter must be a number'],
    [{ store: {} }, 'OPTION_INVALID', 'store must be a BulkStore'],
    [{ clock: {} }, 'OPTION_INVALID', 'clock must be a Clock'],
    [{ rng: {} }, 'OPTION_INVALID', 'rng must be an Rng'],
    [{ log: {} }, 'OPTION_INVALID', 'log must be a Logger'],
    [{ threads: {} }, 'OPTION_INVALID', 'threads must be a ThreadRunner'],
    [{ config: 5 }, 'OPTION_INVALID', 'config must be a configuration'],
    [{ config: { workers: 3 } }, 'OPTION_UNKNOWN', "there is no option 'workers'"],
  ])('refuses %j', (options, expected, message) => {
    expect(() => new BulkActionEngine(options as never)).toThrow(
      expect.objectContaining(code(expected, { message: expect.stringContaining(message) })),
    );
  });
});
