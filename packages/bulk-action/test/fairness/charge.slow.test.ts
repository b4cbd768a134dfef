import { describe, expect, it } from 'vitest';
import { again, DirectEngine } from './direct-engine.js';
import { jain, tenantOf, totals, workerTime } from './measures.js';
import { VirtualEngine } from './virtual-engine.js';

const BUSY_MS = 30_000;

/** Worker time of each tenant from when estimates are learnt, and its Jain index. */
function fairnessOfTime(engine: VirtualEngine, tenants: readonly string[]) {
  const busy = workerTime(engine.recording.starts, tenantOf, 5000, BUSY_MS);
  const times = tenants.map((tenant) => busy.get(tenant) ?? 0);
  const shown = tenants.map((tenant, n) => `${tenant} ${Math.round(times[n] ?? 0)}`).join(', ');
  return { index: jain(times), shown };
}

describe('bulk-action BA-1: what a turn is charged', () => {
  it('bulk-action BA-1: charge time shares worker time between tenants whose jobs differ tenfold in length', async () => {
    const engine = new VirtualEngine({
      seed: 'tenfold',
      config: {
        fairQueue: { charge: 'time' },
        workerPool: { workerCount: 8 },
        backpressure: { globalRps: 0 },
      },
      serviceMs: ({ tenantId }, rng) => rng.exponential(tenantId.startsWith('long') ? 200 : 20),
    });
    const tenants = ['short1', 'short2', 'long1', 'long2'];
    for (const tenant of tenants) await engine.submit({ id: `${tenant}/g` }, 4000);
    await engine.run(() => engine.pass(BUSY_MS));
    const { index, shown } = fairnessOfTime(engine, tenants);
    console.log(`Jain of worker time, lengths 1:10: ${index.toFixed(5)} (${shown})`);
    expect(index, `Jain ${index}: ${shown}`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-1: charge job does not, which is what charge time is for', async () => {
    const engine = new VirtualEngine({
      seed: 'tenfold',
      config: { workerPool: { workerCount: 8 }, backpressure: { globalRps: 0 } },
      serviceMs: ({ tenantId }, rng) => rng.exponential(tenantId === 'long' ? 200 : 20),
    });
    for (const tenant of ['short', 'long']) await engine.submit({ id: `${tenant}/g` }, 3000);
    await engine.run(() => engine.pass(BUSY_MS));
    const { index, shown } = fairnessOfTime(engine, ['short', 'long']);
    expect(index, `Jain ${index}: ${shown}`).toBeLessThan(0.7);
  });

  it('bulk-action BA-1: charge time counts tries that time out', async () => {
    const engine = new VirtualEngine({
      seed: 'timeouts',
      config: {
        fairQueue: { charge: 'time' },
        workerPool: { workerCount: 8, jobTimeoutMs: 400, maxRetryCount: 2 },
        backpressure: { globalRps: 0, defaultBackoffMs: 20, maxBackoffMs: 100 },
      },
      serviceMs: ({ tenantId }, rng) => (tenantId === 'hanging' ? 60_000 : rng.exponential(40)),
    });
    for (const tenant of ['hanging', 'quick']) await engine.submit({ id: `${tenant}/g` }, 4000);
    await engine.run(() => engine.pass(BUSY_MS));
    const [pool] = engine.pools;
    expect(pool?.counters.timeouts, 'tries that timed out').toBeGreaterThan(200);
    const { index, shown } = fairnessOfTime(engine, ['hanging', 'quick']);
    console.log(`Jain of worker time with timeouts: ${index.toFixed(5)} (${shown})`);
    expect(index, `Jain ${index}: ${shown}`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-1: charge time counts tries whose process vanished', async () => {
    const ackTimeoutMs = 600;
    const engine = new DirectEngine({
      seed: 'orphans',
      slots: 8,
      config: {
        fairQueue: { charge: 'time' },
        backpressure: { globalRps: 0, defaultBackoffMs: 20, maxBackoffMs: 100 },
        reliableQueue: { ackTimeoutMs },
      },
      plan: ({ tenantId }, rng) =>
        tenantId === 'crashing' ? { ms: ackTimeoutMs, outcome: 'vanished' } : { ms: rng.exponential(60) },
    });
    for (const tenant of ['crashing', 'quick']) await engine.submit({ id: `${tenant}/g` }, 3000);
    await engine.run(() => engine.time >= BUSY_MS);
    const busy = workerTime(engine.starts, tenantOf, 5000, BUSY_MS);
    const index = jain([...busy.values()]);
    console.log(`Jain of worker time with orphans: ${index.toFixed(5)}`);
    expect(index, `Jain ${index}: ${JSON.stringify([...busy])}`).toBeGreaterThanOrEqual(0.99);
    expect(await engine.service.getProgress('crashing/g')).toMatchObject({ success: 0 });
  });

  it('bulk-action BA-1: charge time counts every try of a job that is retried', async () => {
    const engine = new DirectEngine({
      seed: 'failing tries',
      slots: 8,
      config: { fairQueue: { charge: 'time' }, backpressure: { globalRps: 0 } },
      plan: ({ tenantId, attempt }, rng) =>
        tenantId === 'flaky' && attempt < 3
          ? { ms: rng.exponential(100), outcome: again(30) }
          : { ms: rng.exponential(100) },
    });
    for (const tenant of ['flaky', 'sound']) await engine.submit({ id: `${tenant}/g` }, 3000);
    await engine.run(() => engine.time >= BUSY_MS);
    const busy = workerTime(engine.starts, tenantOf, 5000, BUSY_MS);
    const index = jain([...busy.values()]);
    expect(index, `Jain ${index}: ${JSON.stringify([...busy])}`).toBeGreaterThanOrEqual(0.99);
  });

  it('bulk-action BA-1: charge by a function of the job shares what the function counts', async () => {
    const bytesOf = (payload: unknown) => (payload as { bytes: number }).bytes;
    const engine = new DirectEngine({
      seed: 'by function',
      slots: 8,
      config: {
        fairQueue: { charge: ({ payload }) => bytesOf(payload) / 1000 },
        backpressure: { globalRps: 0 },
      },
      plan: (_job, rng) => ({ ms: rng.exponential(10) }),
    });
    const sizes = { large: 50_000, medium: 10_000, small: 1000 };
    for (const [tenant, bytes] of Object.entries(sizes))
      await engine.submit({ id: `${tenant}/g` }, 3000, (n) => ({ payload: { bytes: bytes + n } }));
    const starts = await engine.start(3000);
    const served = totals(starts, tenantOf, ({ job }) => bytesOf(JSON.parse(job.payload)));
    const index = jain([...served.values()]);
    expect(index, `Jain ${index}: ${JSON.stringify([...served])}`).toBeGreaterThanOrEqual(0.99);
  });
});
