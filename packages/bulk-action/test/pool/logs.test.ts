import { NonRetryableError, sleep } from '@millrace/foundation';
import type { LogLine } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { aroundCall, bench, jobOf, unavailable } from './bench.js';

/** The lines that begin so. */
const found = (lines: readonly LogLine[], beginning: string) =>
  lines.filter(({ message }) => message.startsWith(beginning));

describe('what the pool logs, and at which level', () => {
  it('bulk-action BA-5: INFO: processors, roles with interval and batch, scaling, the end of a group, stops', async () => {
    const { pool, clock, submit, linesOf } = bench({
      config: {
        workerPool: { workerCount: 2, fetchIntervalMs: 150, fetchBatchSize: 20 },
        backpressure: { dispatchIntervalMs: 70, dispatchBatchSize: 30 },
      },
      processors: [
        { type: 'T', process: () => {} },
        { type: 'U', process: () => {} },
      ],
    });
    await pool.start();
    await submit('news', [jobOf('j1')]);
    await clock.advance(500);
    pool.scaleWorkers(3);
    await pool.stop();
    const lines = linesOf('info');
    const expected: readonly [string, object][] = [
      ['Processors registered: T, U', { processorTypes: ['T', 'U'] }],
      ['Fetcher started', { fetchIntervalMs: 150, fetchBatchSize: 20 }],
      ['Dispatcher started', { dispatchIntervalMs: 70, dispatchBatchSize: 30 }],
      ['Workers started: 2', { workerCount: 2 }],
      ['Workers scaled 2 → 3', { from: 2, to: 3 }],
      ['Group ended: COMPLETED', { groupId: 'news', status: 'COMPLETED' }],
      ['Fetcher stopped', { totalFetched: expect.any(Number) }],
      ['Dispatcher stopped', { totalMoved: 0 }],
      ['WorkerPool stopped', { success: 1, failed: 0 }],
    ];
    for (const [message, fields] of expected)
      expect(found(lines, message), message).toMatchObject([{ fields: { instance: 'one', ...fields } }]);
    expect(linesOf('warn')).toEqual([]);
    expect(linesOf('error')).toEqual([]);
  });

  it('bulk-action BA-5: WARN: a retry with n/max; ERROR: a dead letter; DEBUG: every job', async () => {
    const { pool, clock, submit, linesOf } = bench({
      config: { workerPool: { workerCount: 1, maxRetryCount: 2 } },
      processors: [
        { type: 'T', process: () => {} },
        {
          type: 'broken',
          process: () => {
            throw Object.assign(new Error('on fire'), { code: 'FIRE' });
          },
        },
        {
          type: 'refused',
          process: () => {
            throw new NonRetryableError('no such mailbox');
          },
        },
      ],
    });
    await pool.start();
    await submit('g', [
      jobOf('fine'),
      jobOf('broken', { processorType: 'broken' }),
      jobOf('refused', { processorType: 'refused' }),
    ]);
    await clock.advance(300_000);
    const warned = linesOf('warn');
    expect(warned).toHaveLength(2);
    for (const [index, { fields, message }] of warned.entries()) {
      expect(message).toMatch(new RegExp(`^Retry ${index + 1}/2 in [0-9.]+ ms: on fire$`));
      expect(fields).toMatchObject({ groupId: 'g', jobId: 'broken', attempt: index + 1, code: 'FIRE' });
      expect(fields).toMatchObject({ delayMs: expect.any(Number), err: expect.any(Error) });
    }
    expect(linesOf('error')).toMatchObject([
      {
        fields: { groupId: 'g', jobId: 'broken', code: 'FIRE', signature: expect.any(String) },
        message: 'Dead letter after 2 retries: on fire',
      },
    ]);
    const debug = linesOf('debug');
    const common = { groupId: 'g', attempt: 1, durationMs: 0 };
    expect(found(debug, 'Job done')).toMatchObject([{ fields: { ...common, jobId: 'fine' } }]);
    expect(found(debug, 'Job failed for good: no such mailbox')).toMatchObject([
      { fields: { ...common, jobId: 'refused' } },
    ]);
    await pool.stop();
  });

  it('bulk-action BA-5: WARN: the grace period was exceeded, by whom, and jobs given back', async () => {
    const { pool, clock, submit, linesOf } = bench({
      config: { workerPool: { workerCount: 1, shutdownGracePeriodMs: 1000 } },
      processors: [{ type: 'T', process: () => sleep(clock, 20_000) }],
    });
    await submit('g', [jobOf('long')]);
    await pool.start();
    await clock.advance(10);
    const stopping = pool.stop();
    await clock.advance(1000);
    await stopping;
    expect(linesOf('warn')).toMatchObject([
      {
        message: 'Workers did not stop within the grace period of 1000 ms: worker-1 (long)',
        fields: { shutdownGracePeriodMs: 1000, workers: [{ id: 'worker-1', currentJob: 'long' }] },
      },
      { message: '1 unfinished jobs given back', fields: { jobs: [{ jobId: 'long' }] } },
    ]);
    await clock.advance(20_000);
  });

  it('bulk-action BA-4: ERROR: a loop that failed, with its name, its code and the stack', async () => {
    const { pool, clock, linesOf } = bench({
      around: (store) => aroundCall(store, 'gate', 'fetch', () => Promise.reject(unavailable())),
    });
    await pool.start();
    await clock.advance(0);
    expect(linesOf('error')).toMatchObject([
      {
        message: expect.stringContaining('Fetcher failed and goes on'),
        fields: {
          loop: 'Fetcher',
          code: 'BACKEND_UNAVAILABLE',
          err: { stack: expect.stringContaining('switched off by the test') },
        },
      },
    ]);
    await pool.stop();
  });
});
