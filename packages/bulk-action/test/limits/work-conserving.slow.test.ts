import { describe, expect, it } from 'vitest';
import { groupOf, totals, workerTime } from '../fairness/measures.js';
import { VirtualEngine, type VirtualEngineOptions } from '../fairness/virtual-engine.js';

const WORKERS = 16;

const engineOf = (seed: string, more: Partial<VirtualEngineOptions> = {}) =>
  new VirtualEngine({
    seed,
    latenessMs: 2,
    config: { workerPool: { workerCount: WORKERS }, backpressure: { globalRps: 0 } },
    serviceMs: (_job, rng) => rng.exponential(40),
    ...more,
  });

/** The part of the workers' time in which they had a job. */
function busyPart({ recording }: VirtualEngine, fromMs: number, toMs: number, workers = WORKERS): number {
  const busy = workerTime(recording.starts, () => 'all', fromMs, toMs).get('all') ?? 0;
  return busy / ((toMs - fromMs) * workers);
}

describe('bulk-action BA-2: unused share is used by others', () => {
  it('bulk-action BA-2: no worker idles while one group is parked and another can run', async () => {
    const engine = engineOf('parked');
    await engine.submit({ id: 'a/limited', rps: 10, burst: 2, weight: 100 }, 3000);
    await engine.submit({ id: 'b/free' }, 6000);
    await engine.run(() => engine.pass(10_000));
    const busy = busyPart(engine, 100, 10_000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
    const limited = totals(engine.recording.starts, groupOf).get('a/limited') ?? 0;
    expect(Math.abs(limited / 100 - 1), `the limited one started ${limited} in 10 s`).toBeLessThanOrEqual(
      0.02,
    );
  });

  it('bulk-action BA-2: nor while a tenant is parked, or a group of it is', async () => {
    const engine = engineOf('parked tenant');
    await engine.service.updateTenant('a', { rps: 20, weight: 50 });
    for (const id of ['a/g', 'a/h', 'b/free']) await engine.submit({ id }, 5000);
    await engine.submit({ id: 'b/limited', rps: 5, weight: 10 }, 1000);
    await engine.run(() => engine.pass(8000));
    const busy = busyPart(engine, 100, 8000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-2: nor while a thousand groups are parked', async () => {
    const engine = engineOf('thousand parked');
    for (let n = 0; n < 1000; n++) await engine.submit({ id: `t${n}/g`, rps: 0.1 }, 5);
    await engine.submit({ id: 'free/g' }, 6000);
    await engine.run(() => engine.pass(10_000));
    const busy = busyPart(engine, 100, 10_000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-2: nor while groups are at their caps or paused', async () => {
    const engine = engineOf('capped');
    await engine.submit({ id: 'a/capped', concurrency: 2, weight: 100 }, 3000);
    await engine.submit({ id: 'b/paused', weight: 100 }, 3000);
    await engine.service.pauseGroup('b/paused');
    await engine.submit({ id: 'c/free' }, 4000);
    await engine.run(() => engine.pass(8000));
    const busy = busyPart(engine, 100, 8000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
    expect(totals(engine.recording.starts, groupOf).get('b/paused')).toBeUndefined();
  });

  it('bulk-action BA-2: nor while many retries wait, with jobs far longer than the ready horizon', async () => {
    const engine = engineOf('retries', {
      config: {
        workerPool: { workerCount: WORKERS, jobTimeoutMs: 60_000 },
        backpressure: { globalRps: 0, defaultBackoffMs: 500 },
      },
      serviceMs: (_job, rng) => rng.exponential(3000) * (rng.chance(0.3) ? -1 : 1),
    });
    for (const tenant of ['a', 'b', 'c']) await engine.submit({ id: `${tenant}/g` }, 1000);
    await engine.run(() => engine.pass(60_000));
    const busy = busyPart(engine, 100, 60_000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-2: one customer alone gets everything', async () => {
    const engine = engineOf('alone', {
      config: {
        workerPool: { workerCount: WORKERS },
        backpressure: { globalRps: 0 },
        fairQueue: { maxShare: 0.25 },
      },
    });
    await engine.submit({ id: 'a/g', weight: 0.001, priorityLevel: 'low' }, 5000);
    await engine.run(() => engine.pass(10_000));
    const busy = busyPart(engine, 100, 10_000);
    expect(busy, `busy ${busy} of the time`).toBeGreaterThanOrEqual(0.99);
  });
});
