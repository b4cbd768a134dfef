import { sleep } from '@millrace/foundation';
import { ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { bench, jobsOf } from './bench.js';

describe('bulk-action BA-3: resources of a pool', () => {
  it('bulk-action BA-3: processors that call one service share its limit, others do not wait for it', async () => {
    const clock = new ManualClock();
    const running = { api: 0, other: 0 };
    const most = { api: 0, other: 0 };
    const processor = (type: string, called: 'api' | 'other', resource?: string) => ({
      type,
      ...(resource !== undefined && { resource }),
      process: async () => {
        running[called] += 1;
        most[called] = Math.max(most[called], running[called]);
        await sleep(clock, 100);
        running[called] -= 1;
      },
    });
    const { pool, submit } = bench({
      clock,
      config: { workerPool: { workerCount: 12 }, resources: { api: { concurrency: 3 } } },
      processors: [
        processor('MAIL', 'api', 'api'),
        processor('PUSH', 'api', 'api'),
        processor('COUNT', 'other'),
      ],
    });
    await pool.start();
    await submit('mails', jobsOf(20, { processorType: 'MAIL' }));
    await submit('pushes', jobsOf(20, { processorType: 'PUSH' }));
    await submit('counts', jobsOf(30, { processorType: 'COUNT' }));
    for (let turn = 0; turn < 40; turn++) await clock.advance(50);
    expect(most.api).toBe(3);
    expect(most.other).toBeGreaterThanOrEqual(9);
    expect(pool.counters.success).toBe(70);
    await pool.stop();
  });
});
