import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { aroundCall, bench, jobOf, jobsOf, unavailable } from './bench.js';

describe('Fetcher', () => {
  it('bulk-action BA-4: looks again at once while that moves something and ready has room', async () => {
    const { pool, clock, submit, memory } = bench({ config: { workerPool: { fetchBatchSize: 4 } } });
    await submit('g', jobsOf(30));
    await memory.instances.heartbeat({
      id: 'two',
      startedAt: clock.now(),
      slots: 20,
      waiting: 20,
      processorTypes: [],
    });
    await pool.fetcher.start();
    await clock.advance(0);
    const { ready, readyBound } = await memory.views.queues();
    expect([ready, readyBound]).toEqual([30, 40]);
    const { totalFetched, totalAdmittedReady, totalAdmittedNonReady } = pool.fetcher.getStats();
    expect([totalFetched, totalAdmittedReady, totalAdmittedNonReady]).toEqual([30, 30, 0]);
    await pool.fetcher.stop();
  });

  it('bulk-action BA-4: stops at the ready bound', async () => {
    const { pool, clock, submit, memory } = bench({
      config: { workerPool: { workerCount: 0, fetchBatchSize: 4 }, backpressure: { readyQueueMaxSize: 10 } },
    });
    await submit('g', jobsOf(30));
    await pool.start();
    await clock.advance(1000);
    expect((await memory.views.queues()).ready).toBe(4);
    expect(pool.fetcher.getStats()).toMatchObject({ totalFetched: 4, totalEmptyPolls: 0 });
    await pool.stop();
  });

  it('bulk-action BA-4: polls every fetchIntervalMs at the latest, and counts looks that found nothing runnable', async () => {
    const at: number[] = [];
    const { pool, clock } = bench({
      config: { workerPool: { workerCount: 0, fetchIntervalMs: 200 } },
      around: (store, clock) =>
        aroundCall(store, 'gate', 'fetch', (call) => {
          at.push(clock.monotonicMs());
          return call();
        }),
    });
    await pool.start();
    await clock.advance(2000);
    const gaps = at.slice(1).map((time, index) => time - (at[index] ?? 0));
    expect(gaps.length).toBeGreaterThanOrEqual(10);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(200);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(180);
    expect(pool.fetcher.getStats().totalEmptyPolls).toBe(at.length);
    await pool.stop();
  });

  it('bulk-action BA-4: wakes when a parked group has its next slot, not at the next poll', async () => {
    const startedAt: number[] = [];
    const { pool, clock, submit } = bench({
      config: { workerPool: { fetchIntervalMs: 60_000 } },
      processors: [{ type: 'T', process: () => void startedAt.push(clock.monotonicMs()) }],
    });
    await submit('g', jobsOf(4), { rps: 2, burst: 1 });
    await pool.start();
    await clock.advance(1500);
    expect(startedAt).toHaveLength(4);
    startedAt.forEach((at, index) => {
      expect(Math.abs(at - index * 500)).toBeLessThanOrEqual(2);
    });
    expect(pool.fetcher.getStats().totalRejected).toBeGreaterThan(0);
    await pool.stop();
  });

  it('bulk-action BA-4: a store that fails is asked again after 1 s, and work goes on', async () => {
    const at: number[] = [];
    const { pool, clock, submit, counts, linesOf } = bench({
      processors: [{ type: 'T', process: () => {} }],
      around: (store, clock) =>
        aroundCall(store, 'gate', 'fetch', (call) => {
          at.push(clock.monotonicMs());
          return clock.monotonicMs() < 2000 ? Promise.reject(unavailable()) : call();
        }),
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(2000);
    expect(at.slice(0, 3)).toEqual([0, 1000, 2000]);
    expect(await counts('g')).toMatchObject({ success: 2 });
    expect(linesOf('error')).toMatchObject([
      { fields: { loop: 'Fetcher', err: { stack: expect.any(String) } } },
      { fields: { loop: 'Fetcher' } },
    ]);
    await pool.stop();
  });

  it('bulk-action BA-4: starts and stops once, and does not start again', async () => {
    const { pool } = bench();
    const { fetcher } = pool;
    expect(fetcher.isRunning()).toBe(false);
    await Promise.all([fetcher.start(), fetcher.start()]);
    expect(fetcher.isRunning()).toBe(true);
    await Promise.all([fetcher.stop(), fetcher.stop()]);
    expect(fetcher.isRunning()).toBe(false);
    await expect(fetcher.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
  });
});

describe('Dispatcher', () => {
  it('bulk-action BA-6: wakes at the due time of a job, not at its next cycle', async () => {
    const startedAt: number[] = [];
    const { pool, clock, submit } = bench({
      config: { backpressure: { dispatchIntervalMs: 10_000 } },
      processors: [{ type: 'T', process: () => void startedAt.push(clock.monotonicMs()) }],
    });
    await pool.start();
    await clock.advance(50);
    await submit('g', [jobOf('j1', { notBefore: clock.now() + 333 })]);
    await clock.advance(332);
    expect(startedAt).toEqual([]);
    await clock.advance(1);
    expect(startedAt).toEqual([383]);
    expect(pool.dispatcher.getStats()).toMatchObject({ totalMoved: 1, totalSkipped: 0 });
    await pool.stop();
  });

  it('bulk-action BA-6: a full batch is followed by the next at once', async () => {
    const { pool, clock, submit } = bench({
      config: {
        workerPool: { workerCount: 0 },
        backpressure: { dispatchBatchSize: 3, dispatchIntervalMs: 10_000 },
      },
    });
    await submit('g', jobsOf(10, { notBefore: clock.now() + 100 }));
    await pool.start();
    await clock.advance(100);
    expect(pool.dispatcher.getStats().totalMoved).toBe(10);
    await pool.stop();
  });

  it('bulk-action BA-6: while ready is full nothing is moved, and the cycle counts as skipped', async () => {
    const { pool, clock, submit, memory } = bench({
      config: { workerPool: { workerCount: 0 }, backpressure: { readyQueueMaxSize: 1 } },
    });
    await submit('g', [jobOf('j1'), jobOf('late', { notBefore: clock.now() + 100 })]);
    await pool.start();
    await clock.advance(1000);
    expect((await memory.views.queues()).ready).toBe(1);
    const { totalMoved, totalSkipped, totalCycles } = pool.dispatcher.getStats();
    expect(totalMoved).toBe(0);
    expect(totalSkipped).toBeGreaterThan(5);
    expect(totalCycles).toBeGreaterThan(totalSkipped);
    await pool.stop();
  });

  it('bulk-action BA-6: never overlaps itself: dispatchOnce joins the cycle under way', async () => {
    const mayEnd = latch('the cycle may end');
    let calls = 0;
    const { pool, clock } = bench({
      around: (store) =>
        aroundCall(store, 'gate', 'dispatch', async (call) => {
          calls += 1;
          await mayEnd.promise;
          return call();
        }),
    });
    await pool.start();
    const joined = [pool.dispatcher.dispatchOnce(), pool.dispatcher.dispatchOnce()];
    await clock.advance(1000);
    expect(calls).toBe(1);
    mayEnd.open();
    expect(await Promise.all(joined)).toEqual([
      { moved: 0, ready: 0, skipped: false },
      { moved: 0, ready: 0, skipped: false },
    ]);
    expect(pool.dispatcher.getStats().totalCycles).toBe(1);
    await pool.stop();
  });

  it('bulk-action BA-6: a failing cycle is logged and the next runs on time', async () => {
    const at: number[] = [];
    const { pool, clock, linesOf } = bench({
      around: (store, clock) =>
        aroundCall(store, 'gate', 'dispatch', (call) => {
          at.push(clock.monotonicMs());
          return at.length === 1 ? Promise.reject(unavailable()) : call();
        }),
    });
    await pool.start();
    await clock.advance(100);
    expect(at).toEqual([0, 100]);
    expect(linesOf('error')).toMatchObject([{ fields: { loop: 'Dispatcher' } }]);
    await pool.stop();
  });
});

describe('roles', () => {
  it('bulk-action BA-4: a Dispatcher and a Fetcher that hang do not stop the workers', async () => {
    const { pool, clock, submit, memory, counts } = bench({
      config: { workerPool: { shutdownGracePeriodMs: 0 } },
      processors: [{ type: 'T', process: () => {} }],
      around: (store) =>
        aroundCall(
          aroundCall(store, 'gate', 'dispatch', () => new Promise(() => {})),
          'gate',
          'fetch',
          () => new Promise(() => {}),
        ),
    });
    await submit('g', jobsOf(3));
    await memory.gate.fetch(3);
    await pool.start();
    await clock.advance(0);
    expect(await counts('g')).toMatchObject({ success: 3 });
    const stopping = pool.stop();
    await clock.advance(5000);
    await stopping;
  });

  it('bulk-action BA-5: after pauseGroup has answered no job of the group starts, until resume', async () => {
    const started: string[] = [];
    const mayEnd = latch('the first job may end');
    const { pool, clock, submit, memory, counts } = bench({
      config: { workerPool: { workerCount: 1 } },
      processors: [
        {
          type: 'T',
          process: ({ id }) => {
            started.push(id);
            return mayEnd.promise;
          },
        },
      ],
    });
    await submit('g', jobsOf(3));
    await pool.start();
    await clock.advance(0);
    await memory.groups.pause('/g');
    mayEnd.open();
    await clock.advance(30_000);
    expect(started).toEqual(['j1']);
    expect(await counts('g')).toMatchObject({ success: 1, pending: 2 });
    await memory.groups.resume('/g');
    await clock.advance(0);
    expect(started).toEqual(['j1', 'j2', 'j3']);
    await pool.stop();
  });

  it('bulk-action BA-18: heartbeats tell slots and processors; leaving and silence take them away', async () => {
    const { pool, clock, memory } = bench({
      config: { workerPool: { workerCount: 4 } },
      processors: [
        { type: 'T', process: () => {} },
        { type: 'HEAVY', thread: { module: 'file:///none.mjs', name: 'none' } },
      ],
    });
    await pool.start();
    await clock.advance(0);
    // No threads here: this instance does not have the thread processor.
    expect(await memory.instances.list()).toMatchObject([{ id: 'one', slots: 4, processorTypes: ['T'] }]);
    await clock.advance(60_000);
    expect(await memory.instances.list()).toMatchObject([{ id: 'one', slots: 4, waiting: 4 }]);
    pool.scaleWorkers(6);
    await clock.advance(0);
    expect(await memory.instances.list()).toMatchObject([{ slots: 6 }]);
    await pool.stop();
    expect(await memory.instances.list()).toEqual([]);
  });

  it('bulk-action BA-18: two pools on one store share the work, and every job runs once', async () => {
    const ran: string[] = [];
    const processorOf = (name: string) => ({
      type: 'T',
      process: ({ id }: { id: string }) => void ran.push(`${id} ${name}`),
    });
    const first = bench({ config: { workerPool: { workerCount: 2 } }, processors: [processorOf('one')] });
    const second = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [processorOf('two')],
      instanceId: 'two',
      shared: first,
    });
    await Promise.all([first.pool.start(), second.pool.start()]);
    await first.submit('g', jobsOf(200));
    await first.clock.advance(2000);
    expect(new Set(ran.map((line) => line.split(' ')[0])).size).toBe(200);
    expect(ran).toHaveLength(200);
    expect(first.pool.counters.success + second.pool.counters.success).toBe(200);
    expect(Math.min(first.pool.counters.success, second.pool.counters.success)).toBeGreaterThan(0);
    await Promise.all([first.pool.stop(), second.pool.stop()]);
  });
});
