import { sleep } from '@millrace/foundation';
import { latch } from '@millrace/testkit';
import { describe, expect, it, vi } from 'vitest';
import type { Job, JobContext } from '../../src/processor.js';
import { bench, jobOf, jobsOf } from './bench.js';

describe('step 4: acceptance cases', () => {
  it('bulk-action BA-5: a job in ready is run once and completed with { jobId, success: true }', async () => {
    const process = vi.fn(async (_: Job<{ n: string }>, __: JobContext) => ({ sent: true }));
    const { pool, clock, submit, settled, job, memory } = bench({ processors: [{ type: 'T', process }] });
    await submit('g', [jobOf('j1')]);
    await memory.gate.fetch(1);
    expect((await memory.views.queues()).ready).toBe(1);
    await pool.start();
    await clock.advance(1000);
    expect(process).toHaveBeenCalledTimes(1);
    expect(settled).toHaveLength(1);
    expect(settled[0]?.response).toEqual({
      jobId: 'j1',
      groupId: 'g',
      processorType: 'T',
      success: true,
      data: { sent: true },
      durationMs: 0,
    });
    expect(await job('g', 'j1')).toMatchObject({ status: 'COMPLETED', attempts: 1 });
    const [given, context] = process.mock.calls[0] ?? [];
    expect(given).toMatchObject({ id: 'j1', groupId: 'g', tenantId: 'g', payload: { n: 'j1' }, cost: 1 });
    expect(given?.createdAt).toBeInstanceOf(Date);
    expect({ ...context }).toMatchObject({ attempt: 1, idempotencyKey: '/g:j1' });
    expect(context?.signal.aborted).toBe(false);
    await pool.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-8: a throwing processor leads to the failure path with job and error', async () => {
    const { pool, clock, submit, settled, job, linesOf } = bench({
      config: { workerPool: { maxRetryCount: 1 } },
      processors: [
        {
          type: 'T',
          process: () => {
            throw Object.assign(new Error('mailbox on fire'), { code: 'FIRE' });
          },
        },
      ],
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(0);
    expect(settled[0]?.response).toMatchObject({
      jobId: 'j1',
      success: false,
      error: { code: 'FIRE', message: 'mailbox on fire', retryable: true },
    });
    expect(await job('g', 'j1')).toMatchObject({ status: 'PENDING', place: 'NON_READY', retryCount: 1 });
    expect(linesOf('warn').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Retry 1\/1 in \d+(\.\d+)? ms: mailbox on fire$/),
    ]);
    await clock.advance(60_000);
    expect(await job('g', 'j1')).toMatchObject({ status: 'FAILED', place: 'DEAD', attempts: 2 });
    expect(linesOf('error')).toMatchObject([
      {
        fields: { jobId: 'j1', groupId: 'g', code: 'FIRE' },
        message: expect.stringContaining('Dead letter'),
      },
    ]);
    expect(pool.counters).toMatchObject({ success: 0, failed: 1, retries: 1, deadLetters: 1 });
    await pool.stop();
  });

  it('bulk-action BA-9: a 500 ms timeout on a 5 s processor', async () => {
    const seen: unknown[] = [];
    const { pool, clock, submit, settled, job } = bench({
      config: { workerPool: { jobTimeoutMs: 500 } },
      processors: [
        {
          type: 'T',
          process: async (_: Job, { signal }) => {
            await sleep(clock, 5000, signal);
            seen.push(signal.reason);
          },
        },
      ],
    });
    await submit('g', [jobOf('j1')]);
    await pool.start();
    await clock.advance(499);
    expect(settled).toEqual([]);
    await clock.advance(1);
    expect(seen).toMatchObject([{ code: 'JOB_TIMEOUT' }]);
    expect(settled[0]?.response).toMatchObject({
      success: false,
      error: { code: 'JOB_TIMEOUT', message: expect.stringContaining('timed out'), retryable: true },
      durationMs: 500,
    });
    expect((await job('g', 'j1'))?.failedTries).toMatchObject([{ code: 'JOB_TIMEOUT', ms: 500 }]);
    expect(pool.counters.timeouts).toBe(1);
    expect(pool.abandoned).toBe(0);
    await pool.stop();
  });

  it('bulk-action BA-5: stop() during a job: STOPPING at once, STOPPED only after it ended', async () => {
    const mayEnd = latch('the job may end');
    const { pool, clock, submit, job } = bench({
      config: { workerPool: { workerCount: 1 } },
      processors: [{ type: 'T', process: () => mayEnd.promise }],
    });
    await submit('g', jobsOf(2));
    await pool.start();
    await clock.advance(0);
    const stopping = pool.stop();
    await clock.advance(0);
    expect(pool.getPoolStatus().workers).toEqual([{ id: 'worker-1', state: 'STOPPING', currentJob: 'j1' }]);
    await clock.advance(5000);
    expect(pool.getPoolStatus().workers[0]?.state).toBe('STOPPING');
    mayEnd.open();
    await stopping;
    expect(pool.getPoolStatus().workers).toEqual([{ id: 'worker-1', state: 'STOPPED', currentJob: null }]);
    expect(await job('g', 'j1')).toMatchObject({ status: 'COMPLETED' });
    expect(await job('g', 'j2')).toMatchObject({ status: 'PENDING', attempts: 0 });
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-4: 5 jobs with workerCount: 0 → ready holds 1–5', async () => {
    const { pool, clock, submit, memory } = bench({ config: { workerPool: { workerCount: 0 } } });
    await pool.start();
    await submit('g', jobsOf(5));
    await clock.advance(1000);
    const { ready } = await memory.views.queues();
    expect(ready).toBeGreaterThanOrEqual(1);
    expect(ready).toBeLessThanOrEqual(5);
    expect(pool.getPoolStatus()).toMatchObject({
      workerCount: 0,
      workers: [],
      fetcherRunning: true,
      dispatcherRunning: true,
    });
    await pool.stop();
  });

  it('bulk-action BA-4: 20 jobs with readyQueueMaxSize: 10 → never above 10 and totalFetched > 0', async () => {
    const sizes: number[] = [];
    const { pool, clock, submit, memory } = bench({
      config: { workerPool: { workerCount: 2 }, backpressure: { readyQueueMaxSize: 10 } },
      processors: [
        {
          type: 'T',
          process: async () => {
            sizes.push((await memory.views.queues()).ready);
            await sleep(clock, 300);
            sizes.push((await memory.views.queues()).ready);
          },
        },
      ],
    });
    await pool.start();
    await submit('g', jobsOf(20));
    for (let turn = 0; turn < 50; turn++) {
      sizes.push((await memory.views.queues()).ready);
      await clock.advance(100);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10);
    expect(Math.max(...sizes)).toBeGreaterThan(0);
    const { fetcherStats } = pool.getPoolStatus();
    expect(fetcherStats.totalFetched).toBeGreaterThan(0);
    expect(fetcherStats.totalAdmittedReady).toBe(fetcherStats.totalFetched);
    expect(pool.counters.success).toBe(20);
    await pool.stop();
  });

  it('bulk-action BA-7: after init with 3 workers: three workers, isShuttingDown false', async () => {
    const { pool, clock } = bench({ config: { workerPool: { workerCount: 3 } } });
    await pool.start();
    await clock.advance(0);
    expect(pool.getPoolStatus()).toEqual({
      workerCount: 3,
      activeWorkers: 3,
      idleWorkers: 3,
      fetcherRunning: true,
      dispatcherRunning: true,
      fetcherStats: {
        totalFetched: 0,
        totalAdmittedReady: 0,
        totalAdmittedNonReady: 0,
        totalRejected: 0,
        totalEmptyPolls: expect.any(Number),
      },
      dispatcherStats: { totalMoved: 0, totalCycles: 1, totalSkipped: 0 },
      workers: [1, 2, 3].map((n) => ({ id: `worker-${n}`, state: 'RUNNING', currentJob: null })),
      isShuttingDown: false,
    });
    await pool.stop();
  });

  it("bulk-action BA-10: onApplicationShutdown('SIGTERM') → isShuttingDown true, three STOPPED", async () => {
    const { pool, clock, linesOf } = bench({ config: { workerPool: { workerCount: 3 } } });
    await pool.start();
    await clock.advance(0);
    await pool.onApplicationShutdown('SIGTERM');
    const status = pool.getPoolStatus();
    expect(status.isShuttingDown).toBe(true);
    expect(status.workers.map(({ state }) => state)).toEqual(['STOPPED', 'STOPPED', 'STOPPED']);
    expect(status).toMatchObject({ activeWorkers: 0, fetcherRunning: false, dispatcherRunning: false });
    expect(linesOf('info').map(({ message }) => message)).toEqual(
      expect.arrayContaining([
        'Processors registered: none',
        'Fetcher started',
        'Dispatcher started',
        'Workers started: 3',
        'WorkerPool shuts down on SIGTERM',
        'Fetcher stopped',
        'Dispatcher stopped',
      ]),
    );
    expect(linesOf('warn')).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });
});
