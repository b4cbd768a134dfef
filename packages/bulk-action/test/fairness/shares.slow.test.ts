import { seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { DirectEngine } from './direct-engine.js';
import { groupOf, jain, tenantOf, totals } from './measures.js';
import { VirtualEngine } from './virtual-engine.js';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Twelve customers of three sizes, each with a bulk of the same length; costs and times of jobs are drawn. */
function twelveTenants() {
  const rng = seededRng('twelve tenants');
  return numbers(12).map((n) => ({
    id: `t${n}`,
    weight: [1, 2, 4][n % 3] as number,
    costs: numbers(1800).map(() => rng.integer(1, 5)),
  }));
}

/** What each tenant was served per weight, when jobs are taken in this order until so much cost is served. */
function jainOf(
  order: Iterable<{ readonly id: string; readonly cost: number }>,
  budget: number,
  weights: ReadonlyMap<string, number>,
): number {
  const served = new Map([...weights.keys()].map((id) => [id, 0]));
  let sum = 0;
  for (const { id, cost } of order) {
    if (sum >= budget) break;
    sum += cost;
    served.set(id, (served.get(id) ?? 0) + cost);
  }
  return jain([...served].map(([id, cost]) => cost / (weights.get(id) ?? 1)));
}

describe('bulk-action BA-1: shares', () => {
  it('bulk-action BA-1: weighted Jain index over 12 tenants of weight 1:2:4 is at least 0.999', async () => {
    const tenants = twelveTenants();
    const weights = new Map(tenants.map(({ id, weight }) => [id, weight]));
    const engine = new VirtualEngine({
      seed: 'jain',
      config: { backpressure: { globalRps: 0 }, workerPool: { workerCount: 16 } },
      serviceMs: (_job, rng) => rng.exponential(20),
    });
    for (const { id, weight, costs } of tenants) {
      await engine.service.updateTenant(id, { weight });
      await engine.submit({ id: `${id}/g` }, costs.length, (n) => ({ cost: costs[n] }));
    }
    await engine.run(() => engine.untilStarted(8000));
    const { starts } = engine.recording;
    const served = totals(starts, tenantOf, ({ job }) => job.cost);
    const ours = jain(tenants.map(({ id, weight }) => (served.get(id) ?? 0) / weight));

    const budget = [...served.values()].reduce((sum, cost) => sum + cost, 0);
    const fifo = tenants.flatMap(({ id, costs }) => costs.map((cost) => ({ id, cost })));
    const turns = numbers(1800).flatMap((n) =>
      tenants.map(({ id, costs }) => ({ id, cost: costs[n] as number })),
    );
    const peers = { fifo: jainOf(fifo, budget, weights), roundRobin: jainOf(turns, budget, weights) };
    console.log(
      `weighted Jain: ${ours.toFixed(6)}, round robin ${peers.roundRobin.toFixed(3)}, FIFO ${peers.fifo.toFixed(3)}`,
    );
    expect(ours, `weighted Jain ${ours}`).toBeGreaterThanOrEqual(0.999);
    expect(peers.roundRobin, `round robin ${peers.roundRobin}`).toBeLessThan(0.9);
    expect(peers.fifo, `FIFO ${peers.fifo}`).toBeLessThan(0.9);
  });

  it('bulk-action BA-1: a tenant with a hundred groups gets one share beside tenants with one', async () => {
    const engine = new DirectEngine({
      seed: 'hundred groups',
      slots: 16,
      plan: (_job, rng) => ({ ms: rng.exponential(20) }),
    });
    for (const n of numbers(100)) await engine.submit({ id: `many/g${n}` }, 40);
    for (const n of numbers(4)) await engine.submit({ id: `one${n}/g` }, 1500);
    const served = totals(await engine.start(5000), tenantOf);
    for (const tenant of ['many', 'one0', 'one1', 'one2', 'one3']) {
      const share = (served.get(tenant) ?? 0) / 5000;
      expect(Math.abs(share / 0.2 - 1), `${tenant} got ${share}`).toBeLessThanOrEqual(0.02);
    }
  });

  it('bulk-action BA-1: the hundred groups share their tenant evenly', async () => {
    const engine = new DirectEngine({ seed: 'inside', slots: 16 });
    for (const n of numbers(100)) await engine.submit({ id: `many/g${n}` }, 40);
    await engine.submit({ id: 'one/g' }, 2000);
    const served = totals(await engine.start(4000), groupOf);
    const inside = numbers(100).map((n) => served.get(`many/g${n}`) ?? 0);
    const [least, most] = [Math.min(...inside), Math.max(...inside)];
    expect(most - least, `between ${least} and ${most} of each`).toBeLessThanOrEqual(1);
  });

  it.each(['updateTenant', 'updateGroup'] as const)(
    'bulk-action BA-1: after %s of a weight from 1 to 8 the first 200 fetches have the new shares',
    async (change) => {
      const engine = new DirectEngine({
        seed: change,
        slots: 4,
        plan: (_job, rng) => ({ ms: rng.exponential(10) }),
      });
      const ids = numbers(4).map((n) => (change === 'updateTenant' ? `t${n}/g` : `t/g${n}`));
      for (const id of ids) await engine.submit({ id }, 1000);
      await engine.start(400);
      if (change === 'updateTenant') await engine.service.updateTenant('t0', { weight: 8 });
      else await engine.service.updateGroup('t/g0', { weight: 8 });
      const served = totals(await engine.start(200), groupOf);
      for (const [n, id] of ids.entries()) {
        const fair = (200 * (n === 0 ? 8 : 1)) / 11;
        const got = served.get(id) ?? 0;
        expect(Math.abs(got / fair - 1), `${id} got ${got}, its share is ${fair}`).toBeLessThanOrEqual(0.1);
      }
    },
  );

  it.each(['updateTenant', 'updateGroup'] as const)(
    'bulk-action BA-1: after %s a customer that weighed next to nothing does not wait for its old turn',
    async (change) => {
      const engine = new DirectEngine({ seed: `nothing ${change}` });
      const ids = change === 'updateTenant' ? ['t0/g', 't1/g'] : ['t/g0', 't/g1'];
      for (const id of ids) await engine.submit({ id }, 2000);
      const setWeight = (weight: number) =>
        change === 'updateTenant'
          ? engine.service.updateTenant('t0', { weight })
          : engine.service.updateGroup('t/g0', { weight });
      // One turn in a thousand: the next one is far away.
      await setWeight(0.001);
      await engine.start(100);
      await setWeight(1);
      const got = totals(await engine.start(200), groupOf).get(ids[0] as string) ?? 0;
      expect(Math.abs(got / 100 - 1), `${got} of 200`).toBeLessThanOrEqual(0.1);
    },
  );

  it('bulk-action BA-1: a weight lowered from 8 to 1 acts on the first 200 fetches too', async () => {
    const engine = new DirectEngine({ seed: 'lowered', slots: 4 });
    await engine.service.updateTenant('t0', { weight: 8 });
    for (const n of numbers(4)) await engine.submit({ id: `t${n}/g` }, 1000);
    await engine.start(400);
    await engine.service.updateTenant('t0', { weight: 1 });
    const served = totals(await engine.start(200), tenantOf);
    for (const n of numbers(4)) {
      const got = served.get(`t${n}`) ?? 0;
      expect(Math.abs(got / 50 - 1), `t${n} got ${got} of 200`).toBeLessThanOrEqual(0.1);
    }
  });
});
