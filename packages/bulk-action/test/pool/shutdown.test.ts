import { sleep } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import type { Job, JobContext } from '../../src/processor.js';
import { aroundCall, bench, forEver, jobOf, jobsOf, unavailable } from './bench.js';

/** Every call of these ports fails in the same way from `fromMs` on. */
const broken =
  (fail: () => Promise<unknown>, fromMs = 0) =>
  (store: Parameters<typeof aroundCall>[0], clock: { monotonicMs(): number }) => {
    const from = (call: () => Promise<unknown>) => (clock.monotonicMs() >= fromMs ? fail() : call());
    let made = store;
    for (const member of ['fetch', 'dispatch'] as const) made = aroundCall(made, 'gate', member, from);
    for (const member of ['reserve', 'renew', 'settle', 'giveBack', 'recover'] as const)
      made = aroundCall(made, 'leases', member, from);
    for (const member of ['heartbeat', 'leave'] as const) made = aroundCall(made, 'instances', member, from);
    return aroundCall(made, 'upkeep', 'sweep', from);
  };

describe('shutdown', () => {
  it('bulk-action BA-10: idle: ends at once, the Fetcher before the Dispatcher', async () => {
    const { pool, clock, lines, memory } = bench();
    await pool.start();
    await clock.advance(1000);
    await pool.stop();
    expect(clock.monotonicMs()).toBe(1000);
    const messages = lines.map(({ message }) => message);
    expect(messages.indexOf('Fetcher stopped')).toBeLessThan(messages.indexOf('Dispatcher stopped'));
    expect(messages.at(-1)).toBe('WorkerPool stopped');
    expect(await memory.instances.list()).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: busy: jobs finish within the grace period, no new one starts', async () => {
    const started: string[] = [];
    const { pool, clock, submit, counts, linesOf } = bench({
      config: { workerPool: { workerCount: 2 } },
      processors: [
        {
          type: 'T',
          process: async ({ id }: Job) => {
            started.push(id);
            await sleep(clock, 3000);
          },
        },
      ],
    });
    await submit('g', jobsOf(6));
    await pool.start();
    await clock.advance(1000);
    const stopping = pool.stop();
    await clock.advance(2000);
    await stopping;
    expect(started).toEqual(['j1', 'j2']);
    expect(await counts('g')).toMatchObject({ success: 2, pending: 4, inFlight: 0 });
    expect(linesOf('warn')).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-10: before the grace period ends signals abort and unfinished jobs go back to ready, retry count unchanged', async () => {
    const reasons: unknown[] = [];
    const { pool, clock, submit, job, linesOf, memory, settled } = bench({
      config: { workerPool: { workerCount: 2, shutdownGracePeriodMs: 1000 } },
      processors: [
        {
          type: 'T',
          process: async (_: Job, { signal }: JobContext) => {
            await sleep(clock, 20_000, signal);
            reasons.push(signal.reason);
          },
        },
      ],
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(500);
    const stopping = pool.stop();
    await clock.advance(799);
    expect(reasons).toEqual([]);
    await clock.advance(1);
    await stopping;
    expect(reasons).toMatchObject([{ code: 'SERVICE_STOPPED' }, { code: 'SERVICE_STOPPED' }]);
    for (const id of ['j1', 'j2'])
      expect(await job('g', id)).toMatchObject({ status: 'PENDING', retryCount: 0, orphanCount: 0 });
    expect((await memory.views.queues()).ready).toBeGreaterThan(0);
    expect(linesOf('warn').map(({ message }) => message)).toEqual([
      'Workers did not stop within the grace period of 1000 ms: worker-1 (j1), worker-2 (j2)',
      '2 unfinished jobs given back',
    ]);
    // What the handlers returned after that is ignored.
    await clock.advance(60_000);
    expect(settled).toEqual([]);
    expect(pool.abandoned).toBe(0);
    expect(pool.getPoolStatus().workers.map(({ state }) => state)).toEqual(['STOPPED', 'STOPPED']);
  });

  it('bulk-action BA-10: a handler that ignores everything does not hold the shutdown; its late result is ignored', async () => {
    const mayEnd = latch('the handler may end');
    const { pool, clock, submit, job, settled } = bench({
      config: { workerPool: { shutdownGracePeriodMs: 1000 } },
      processors: [{ type: 'T', process: () => mayEnd.promise }],
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(0);
    const stopping = pool.stop();
    await clock.advance(1000);
    await stopping;
    expect(pool.abandoned).toBe(1);
    expect(clock.pendingTimers).toBe(0);
    mayEnd.open();
    await clock.advance(0);
    expect(pool.abandoned).toBe(0);
    expect(settled).toEqual([]);
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', retryCount: 0 });
  });

  it.each([
    ['is down', () => Promise.reject(unavailable())],
    ['hangs for ever', forEver],
  ])('bulk-action BA-10: idle while the store %s: ends within the grace period + 5 s', async (_, fail) => {
    const { pool, clock } = bench({ around: broken(fail) });
    await pool.start();
    await clock.advance(3000);
    let stopped = false;
    const stopping = pool.stop().then(() => {
      stopped = true;
    });
    await clock.advance(5000);
    expect(stopped).toBe(true);
    await stopping;
    expect(pool.getPoolStatus().workers.every(({ state }) => state === 'STOPPED')).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ['is down', () => Promise.reject(unavailable())],
    ['hangs for ever', forEver],
  ])('bulk-action BA-10: busy while the store %s: ends within the grace period + 5 s', async (_, fail) => {
    const { pool, clock, submit, linesOf } = bench({
      config: { workerPool: { workerCount: 2, shutdownGracePeriodMs: 2000 } },
      processors: [
        {
          type: 'T',
          process: async ({ id }: Job) => {
            // One ends, and its result cannot be stored; the other one does not end.
            await sleep(clock, id === 'j1' ? 100 : 600_000);
          },
        },
      ],
      around: broken(fail, 50),
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(1000);
    let stopped = false;
    const stopping = pool.stop().then(() => {
      stopped = true;
    });
    await clock.advance(7000);
    expect(stopped).toBe(true);
    await stopping;
    expect(linesOf('warn')[0]?.message).toContain('worker-1 (j1), worker-2 (j2)');
    // The handler's own sleep is all that is left.
    expect(clock.pendingTimers).toBe(1);
  });

  it('bulk-action BA-10: stop twice is one shutdown, and a stopped pool does not start again', async () => {
    const { pool, clock, linesOf } = bench();
    await pool.start();
    await clock.advance(0);
    await Promise.all([pool.stop(), pool.onApplicationShutdown('SIGTERM'), pool.stop()]);
    await pool.stop();
    expect(linesOf('info').filter(({ message }) => message === 'WorkerPool stopped')).toHaveLength(1);
    await expect(pool.start()).rejects.toMatchObject({ code: 'SERVICE_STOPPED' });
    expect(() => pool.scaleWorkers(3)).toThrow(/has been stopped/);
  });

  it('bulk-action BA-10: stop before start, and right after it, leave nothing behind', async () => {
    const never = bench();
    await never.pool.stop();
    expect(never.pool.getPoolStatus()).toMatchObject({ workers: [], isShuttingDown: true });
    const early = bench();
    const starting = early.pool.start();
    const stopping = early.pool.stop();
    await Promise.all([starting, stopping]);
    await early.clock.advance(60_000);
    expect(early.clock.pendingTimers).toBe(0);
    expect(early.pool.getPoolStatus().workers.every(({ state }) => state === 'STOPPED')).toBe(true);
  });

  it('bulk-action BA-7: enabled: false is a producer only: nothing runs, nothing is counted alive', async () => {
    const { pool, clock, submit, memory, counts } = bench({
      config: { workerPool: { enabled: false } },
      processors: [{ type: 'T', process: () => {} }],
    });
    await pool.start();
    await submit('g', jobsOf(3));
    await clock.advance(60_000);
    expect(await counts('g')).toMatchObject({ pending: 3, success: 0 });
    expect(pool.getPoolStatus()).toMatchObject({
      workers: [],
      fetcherRunning: false,
      dispatcherRunning: false,
    });
    expect(await memory.instances.list()).toEqual([]);
    expect(() => pool.scaleWorkers(2)).toThrow(/workerPool\.enabled must be true/);
    expect(clock.pendingTimers).toBe(0);
    await pool.stop();
  });
});
