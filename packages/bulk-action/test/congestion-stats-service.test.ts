import { RateLimitedError } from '@millrace/foundation';
import { until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { BulkActionEngine } from '../src/engine.js';
import { defineProcessor } from '../src/processor.js';

/** A service that refuses everybody until it is told to work. */
async function refusingEngine() {
  const service = { refuses: true };
  const engine = new BulkActionEngine({
    config: {
      congestion: { baseBackoffMs: 20, maxBackoffMs: 50 },
      backpressure: { dispatchIntervalMs: 10 },
      workerPool: { workerCount: 2, fetchIntervalMs: 20 },
    },
    processors: [
      defineProcessor({
        type: 'MAIL',
        resource: 'smtp',
        process: () => {
          if (service.refuses) throw new RateLimitedError();
        },
      }),
    ],
  });
  await engine.start();
  return { engine, service };
}

describe('bulk-action BA-3: CongestionStatsService', () => {
  it('bulk-action BA-3: says how a service and a group are held back; the group is forgotten with its end', async () => {
    const { engine, service } = await refusingEngine();
    await using _ = engine;
    const { congestion } = engine;
    await engine.service.submitBulk(
      { id: 'g' },
      Array.from({ length: 3 }, () => ({ processorType: 'MAIL', payload: 1 })),
    );
    await until(async () => (await congestion.getStats('g')).throttles >= 3, { what: 'refusals' });
    const group = await congestion.getStats('g');
    expect(group).toMatchObject({ groupId: 'g', rate: 0 });
    expect(group.throttlesPerJob).toBe(group.throttles);
    expect(group.history.length).toBeGreaterThan(0);
    expect(group.lastBackoffMs).toBeGreaterThanOrEqual(20);
    expect(['NONE', 'LOW']).toContain(group.level);
    const [smtp, ...others] = await congestion.getResources();
    expect(others).toEqual([]);
    expect(smtp).toMatchObject({ resource: 'smtp', concurrency: null });
    expect(smtp?.limit, 'calls per second').toBeGreaterThanOrEqual(1);
    expect(smtp?.throttlesPerJob).toBe(smtp?.throttles);
    service.refuses = false;
    await until(async () => (await engine.service.getProgress('g')).status === 'COMPLETED', {
      what: 'the end',
      deadlineMs: 30_000,
    });
    await expect(congestion.getStats('g')).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
    expect((await engine.service.getProgress('g')).congestion).toMatchObject({
      level: 'NONE',
      lastBackoffMs: 0,
    });
  });

  it('bulk-action BA-3: an unknown group and an id that is none are refused', async () => {
    await using engine = new BulkActionEngine();
    await expect(engine.congestion.getStats('nobody')).rejects.toMatchObject({ code: 'GROUP_NOT_FOUND' });
    await expect(engine.congestion.getStats('a b')).rejects.toMatchObject({ code: 'ID_INVALID' });
    expect(await engine.congestion.getResources()).toEqual([]);
  });
});
