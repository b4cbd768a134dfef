import { describe, expect, it } from 'vitest';
import type { BulkActionConfig } from '../../src/options.js';
import { mostAtOnce, workerTime } from './measures.js';
import type { Start } from './recorded-store.js';
import { VirtualEngine } from './virtual-engine.js';

const WORKERS = 10;
const SLOW_MS = 20_000;

/** A whale of slow jobs, there first, and a customer with short jobs. */
function slowWhale(fairQueue: BulkActionConfig['fairQueue'] = {}): VirtualEngine {
  return new VirtualEngine({
    seed: 'slow whale',
    config: { fairQueue, workerPool: { workerCount: WORKERS }, backpressure: { globalRps: 0 } },
    serviceMs: ({ tenantId }, rng) => (tenantId === 'whale' ? SLOW_MS : rng.exponential(50)),
  });
}

const ofTenant = (tenantId: string) => (start: Start) => start.job.tenantId === tenantId;

describe('bulk-action BA-1: caps on what one customer holds', () => {
  it.each(['group', 'tenant'] as const)(
    'bulk-action BA-1: a whale of slow jobs under a %s cap leaves the other workers alone',
    async (scope) => {
      const engine = slowWhale();
      const cap = 3;
      if (scope === 'tenant') await engine.service.updateTenant('whale', { concurrency: cap });
      const concurrency = scope === 'group' ? { concurrency: cap } : {};
      const groups = scope === 'group' ? ['whale/g'] : ['whale/g', 'whale/h', 'whale/i'];
      for (const id of groups) await engine.submit({ id, ...concurrency }, 500);
      await engine.run(async () => {
        await engine.pass(1000);
        await engine.submit({ id: 'other/g' }, 5000);
        await engine.pass(29_000);
      });
      const { starts } = engine.recording;
      expect(mostAtOnce(starts.filter(ofTenant('whale'))), 'slots of the whale').toBe(cap);
      const busy = workerTime(starts, ({ job }) => job.tenantId, 2000, 30_000);
      const others = (busy.get('other') ?? 0) / (28_000 * (WORKERS - cap));
      expect(others, `the other workers were busy ${others} of the time`).toBeGreaterThanOrEqual(0.99);
      expect((busy.get('whale') ?? 0) / (28_000 * cap), 'and the whale uses its cap').toBeGreaterThan(0.99);
    },
  );

  it('bulk-action BA-1: a cap lowered in mid-flight starts nothing until below it, a raised one acts at once', async () => {
    const engine = slowWhale();
    await engine.submit({ id: 'whale/g', concurrency: 8 }, 500);
    const { starts } = engine.recording;
    await engine.run(async () => {
      await engine.untilStarted(8);
      await engine.service.updateGroup('whale/g', { concurrency: 2 });
      await engine.pass(SLOW_MS * 1.5);
      expect(starts.length, 'after the eight: two').toBe(10);
      await engine.service.updateGroup('whale/g', { concurrency: 5 });
      await engine.pass(10);
      expect(starts.length, 'three more at once').toBe(13);
    });
  });

  it('bulk-action BA-1: maxShare holds a group back while another can run, and no longer', async () => {
    const engine = slowWhale({ maxShare: 0.3 });
    await engine.service.updateTenant('whale', { weight: 1000 });
    const { starts } = engine.recording;
    // Enough of them that one is always below its own share.
    for (let n = 0; n < 5; n++) await engine.submit({ id: `other${n}/g` }, 1000);
    await engine.run(async () => {
      await engine.pass(2000);
      await engine.submit({ id: 'whale/g' }, 500);
      await engine.pass(SLOW_MS);
      expect(mostAtOnce(starts.filter(ofTenant('whale'))), 'its share while others wait').toBe(3);
      const busy = workerTime(starts, ({ job }) => job.tenantId, 3000, SLOW_MS);
      const others = [...busy].filter(([tenant]) => tenant !== 'whale').reduce((sum, [, ms]) => sum + ms, 0);
      const part = others / ((SLOW_MS - 3000) * (WORKERS - 3));
      expect(part, `the other workers were busy ${part} of the time`).toBeGreaterThanOrEqual(0.99);
      await engine.pass(4 * SLOW_MS);
      const running = starts.filter((start) => ofTenant('whale')(start) && start.endedAt === undefined);
      expect(starts.filter((start) => !ofTenant('whale')(start)).length, 'all others ran').toBe(5000);
      expect(running.length, 'everything when alone').toBe(WORKERS);
    });
  });

  it('bulk-action BA-1: maxShare keeps a heavy group from taking all when every group is at its share', async () => {
    const engine = slowWhale({ maxShare: 0.5 });
    await engine.service.updateTenant('whale', { weight: 1000 });
    await engine.submit({ id: 'other/g' }, 5000);
    await engine.run(async () => {
      await engine.pass(2000);
      await engine.submit({ id: 'whale/g' }, 500);
      await engine.pass(2 * SLOW_MS);
    });
    const most = mostAtOnce(engine.recording.starts.filter(ofTenant('whale')));
    expect(most, `the whale had ${most} of ${WORKERS} slots`).toBe(5);
  });

  it('bulk-action BA-1: behind slow jobs a newcomer waits for one free worker, not for a long ready queue', async () => {
    const slowFrom = 3000;
    const engine = new VirtualEngine({
      seed: 'slow from then on',
      config: { workerPool: { workerCount: WORKERS }, backpressure: { globalRps: 0 } },
      serviceMs: (_job, rng) =>
        engine.clock.monotonicMs() < slowFrom ? 50 : SLOW_MS * (0.5 + 0.5 * rng.next()),
    });
    await engine.submit({ id: 'whale/g' }, 5000);
    // Nothing has started for longer than the time over which the drain is measured.
    const comesAt = slowFrom + 8000;
    await engine.run(async () => {
      await engine.pass(comesAt);
      await engine.submit({ id: 'new/g' }, 20);
      await engine.pass(2 * SLOW_MS);
    });
    const { starts } = engine.recording;
    const after = starts.filter(({ at }) => at > comesAt).map(({ job }) => job.tenantId);
    const place = after.indexOf('new');
    expect(place, `before the newcomer came ${place} of the whale`).toBeGreaterThanOrEqual(0);
    // What half of the horizon holds at 200 per second, and one for rounding.
    expect(place, `before the newcomer came ${place} of the whale`).toBeLessThanOrEqual(6);
  });
});
