import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import type { GroupInput } from '../../src/model.js';
import { defaultBurst } from '../../src/rules/gcra.js';
import { busiestSecond, groupOf, tenantOf } from '../fairness/measures.js';
import type { Start } from '../fairness/recorded-store.js';
import { VirtualEngine } from '../fairness/virtual-engine.js';

interface Limit {
  readonly name: string;
  readonly rps: number;
  readonly burst?: number | undefined;
  readonly has: (start: Start) => boolean;
}

/** I7: what started in the busiest second of each limit, compared with limit + max(burst, cost). */
function expectKept(starts: readonly Start[], limits: readonly Limit[]): void {
  for (const { name, rps, burst = defaultBurst(rps), has } of limits) {
    const own = starts.filter(has);
    const costMax = Math.max(0, ...own.map(({ job }) => job.cost));
    const most = busiestSecond(own);
    expect(own.length, `starts of ${name}`).toBeGreaterThan(0);
    expect(
      most,
      `${name}: ${most} in a second, limit ${rps}, burst ${burst}, cost ${costMax}`,
    ).toBeLessThanOrEqual(rps + Math.max(burst, costMax));
  }
}

/** Two instances with late timers and a round trip to the store; every fifth try fails and comes again. */
const twoInstances = (seed: string, backpressure: { globalRps: number; burst?: number }): VirtualEngine =>
  new VirtualEngine({
    seed,
    instances: 2,
    roundTripMs: 1,
    latenessMs: 3,
    config: {
      workerPool: { workerCount: 20 },
      backpressure: { ...backpressure, defaultBackoffMs: 50, maxBackoffMs: 500 },
    },
    serviceMs: (_job, rng) => rng.exponential(15) * (rng.chance(0.2) ? -1 : 1),
  });

const engineLimit = (rps: number, burst?: number): Limit => ({ name: 'engine', rps, burst, has: () => true });

function groupLimit({ id, rps = 0, burst }: GroupInput): Limit {
  return { name: id, rps, burst, has: (start) => groupOf(start) === id };
}

const tenantLimit = (id: string, rps: number, burst?: number): Limit => ({
  name: id,
  rps,
  burst,
  has: (start) => tenantOf(start) === id,
});

const costs = (rng: Rng, most: number) => () => ({ cost: rng.integer(1, most) });

async function work(engine: VirtualEngine, ms: number): Promise<readonly Start[]> {
  await engine.run(() => engine.pass(ms));
  const { starts } = engine.recording;
  expect(starts.filter(({ job }) => job.attempt > 1).length, 'retries').toBeGreaterThan(50);
  expect(new Set(starts.map(({ instanceId }) => instanceId)).size, 'instances that worked').toBe(2);
  return starts;
}

describe('bulk-action BA-2: limits in every sliding second', () => {
  it('bulk-action BA-2: the global limit, over two instances, retries included', async () => {
    const engine = twoInstances('global', { globalRps: 200 });
    for (const tenant of ['a', 'b', 'c']) await engine.submit({ id: `${tenant}/g` }, 1500);
    const starts = await work(engine, 10_000);
    expectKept(starts, [engineLimit(200)]);
    expect(starts.length, 'and the limit is used').toBeGreaterThan(0.98 * 200 * 10);
  });

  it('bulk-action BA-2: tenant limits with costs, over all groups of a tenant', async () => {
    const rng = seededRng('tenant costs');
    const engine = twoInstances('tenants', { globalRps: 0 });
    await engine.service.updateTenant('a', { rps: 120, burst: 40 });
    await engine.service.updateTenant('b', { rps: 60 });
    for (const id of ['a/g', 'a/h', 'b/g', 'b/h']) await engine.submit({ id }, 1500, costs(rng, 7));
    const starts = await work(engine, 12_000);
    expectKept(starts, [tenantLimit('a', 120, 40), tenantLimit('b', 60)]);
  });

  it('bulk-action BA-2: group limits with bursts and with costs above the burst', async () => {
    const rng = seededRng('group costs');
    const engine = twoInstances('groups', { globalRps: 0 });
    const groups = [
      { id: 'a/slow', rps: 20 },
      { id: 'a/bursty', rps: 50, burst: 100 },
      { id: 'b/smooth', rps: 80, burst: 1 },
      { id: 'b/heavy', rps: 100, burst: 5 },
    ];
    for (const group of groups) await engine.submit(group, 2500, costs(rng, group.id === 'b/heavy' ? 30 : 1));
    const starts = await work(engine, 12_000);
    expectKept(starts, groups.map(groupLimit));
  });

  it('bulk-action BA-2: global, tenant and group limits together', async () => {
    const rng = seededRng('all costs');
    const engine = twoInstances('together', { globalRps: 150, burst: 10 });
    await engine.service.updateTenant('a', { rps: 90, burst: 20 });
    await engine.service.updateTenant('b', { rps: 100 });
    const groups = [
      { id: 'a/g', rps: 60, burst: 30 },
      { id: 'a/h', rps: 55 },
      { id: 'b/g', rps: 70 },
      { id: 'b/h', rps: 20, burst: 2 },
    ];
    for (const group of groups) await engine.submit(group, 1500, costs(rng, 4));
    const starts = await work(engine, 12_000);
    expectKept(starts, [
      engineLimit(150, 10),
      tenantLimit('a', 90, 20),
      tenantLimit('b', 100),
      ...groups.map(groupLimit),
    ]);
    const perSecond = starts.reduce((sum, { job }) => sum + job.cost, 0) / 12;
    expect(perSecond, `used ${perSecond} of 150`).toBeGreaterThan(0.97 * 150);
  });

  it('bulk-action BA-2: bursts after idle times stay within the limit', async () => {
    const engine = twoInstances('idle times', { globalRps: 100, burst: 80 });
    const submitAt = [0, 1500, 1900, 4000, 4100, 4900, 8000];
    for (const [n, at] of submitAt.entries())
      engine.clock.at(at, () => void engine.submit({ id: `t${n}/g` }, 180));
    const starts = await work(engine, 15_000);
    expectKept(starts, [engineLimit(100, 80)]);
    expect(busiestSecond(starts), 'a burst did happen').toBeGreaterThan(150);
  });
});
