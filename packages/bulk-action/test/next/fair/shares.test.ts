import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { type Contender, jain, totals, worstDrift } from '../../fairness/measures.js';
import { type Attempt, groupOf, numbers, tenantOf, World } from './world.js';

const LEVELS = ['high', 'normal', 'low'] as const;
const LEVEL_WEIGHTS = { high: 8, normal: 4, low: 1 };

interface Party extends Contender {
  readonly tenant: string;
}

/** Tenants and groups of random weights, with jobs of random costs, enough for all to have work waiting. */
function randomLoad(world: World, rng: Rng): { tenants: Contender[]; groups: Party[] } {
  const tenants: Contender[] = [];
  const groups: Party[] = [];
  for (const n of numbers(rng.integer(2, 5))) {
    const weight = rng.integer(1, 80) / rng.integer(1, 10);
    world.limit(`t${n}`, { weight });
    let tenantCostMax = 0;
    for (const m of numbers(rng.integer(1, 4))) {
      const own = { weight: rng.integer(1, 40) / rng.integer(1, 8), priorityLevel: rng.pick(LEVELS) };
      const most = rng.pick([1, 5, 50]);
      const costs = numbers(400).map(() => rng.integer(1, most));
      const costMax = Math.max(...costs);
      tenantCostMax = Math.max(tenantCostMax, costMax);
      const name = `t${n}/g${m}`;
      world.submit(
        name,
        costs.map((cost) => ({ cost })),
        own,
      );
      groups.push({ name, tenant: `t${n}`, costMax, weight: own.weight * LEVEL_WEIGHTS[own.priorityLevel] });
    }
    tenants.push({ name: `t${n}`, weight, costMax: tenantCostMax });
  }
  return { tenants, groups };
}

const turns = (nameOf: (start: Attempt) => string, starts: readonly Attempt[]) =>
  starts.map((start) => ({ name: nameOf(start), cost: start.body.cost }));

describe('the bound of start-time fair queueing', () => {
  it.each(numbers(20))('holds for random weights and costs at both levels, seed %i', (seed) => {
    const rng = seededRng(`sfq ${seed}`);
    const world = new World({
      seed: `sfq ${seed}`,
      slots: rng.integer(1, 32),
      plan: (_attempt, times) => ({ ms: times.exponential(10) }),
    });
    const { tenants, groups } = randomLoad(world, rng);
    const starts = world.start(390);
    const between = worstDrift(turns(tenantOf, starts), tenants);
    expect(between, `tenants drift ${between} of the bound`).toBeLessThanOrEqual(1 + 1e-9);
    for (const { name } of tenants) {
      const own = starts.filter((start) => tenantOf(start) === name);
      const inside = groups.filter(({ tenant }) => tenant === name);
      const drift = worstDrift(turns(groupOf, own), inside);
      expect(drift, `groups of ${name} drift ${drift} of the bound`).toBeLessThanOrEqual(1 + 1e-9);
    }
  });

  it.each(numbers(10))(
    'holds for those with work waiting while others leave and come back, seed %i',
    (seed) => {
      const rng = seededRng(`come and go ${seed}`);
      const world = new World({
        slots: rng.integer(1, 8),
        plan: (_attempt, times) => ({ ms: times.exponential(10) }),
      });
      const steady = [1, 3].map((weight, n) => ({ name: `steady${n}`, weight, costMax: 5 }));
      for (const { name, weight } of steady) {
        world.limit(name, { weight });
        world.submit(
          `${name}/g`,
          numbers(2000).map(() => ({ cost: rng.integer(1, 5) })),
        );
      }
      const order: Attempt[] = [];
      for (const round of numbers(40)) {
        world.submit(`guest${round % 7}/g`, rng.integer(1, 20));
        order.push(...world.start(rng.integer(5, 40)));
      }
      expect(worstDrift(turns(tenantOf, order), steady)).toBeLessThanOrEqual(1 + 1e-9);
    },
  );
});

describe('shares', () => {
  it('reach a weighted Jain index of 0.999 over 12 tenants of weight 1:2:4', () => {
    const rng = seededRng('twelve tenants');
    const world = new World({ slots: 16, plan: (_attempt, times) => ({ ms: times.exponential(20) }) });
    const tenants = numbers(12).map((n) => ({ id: `t${n}`, weight: [1, 2, 4][n % 3] as number }));
    for (const { id, weight } of tenants) {
      world.limit(id, { weight });
      world.submit(
        `${id}/g`,
        numbers(1800).map(() => ({ cost: rng.integer(1, 5) })),
      );
    }
    const served = totals(world.start(8000), tenantOf, ({ body }) => body.cost);
    const index = jain(tenants.map(({ id, weight }) => (served.get(id) ?? 0) / weight));
    expect(index, `weighted Jain ${index}`).toBeGreaterThanOrEqual(0.999);
  });

  it('of a tenant with a hundred groups are one share, which these divide evenly', () => {
    const world = new World({ slots: 16, plan: (_attempt, times) => ({ ms: times.exponential(20) }) });
    for (const n of numbers(100)) world.submit(`many/g${n}`, 40);
    for (const n of numbers(4)) world.submit(`one${n}/g`, 1500);
    const starts = world.start(5000);
    for (const [tenant, got] of totals(starts, tenantOf))
      expect(Math.abs(got / 1000 - 1), `${tenant} got ${got}`).toBeLessThanOrEqual(0.01);
    const inside = [...totals(starts, groupOf)].flatMap(([id, got]) => (id.startsWith('many') ? [got] : []));
    expect(inside).toHaveLength(100);
    expect(Math.max(...inside) - Math.min(...inside)).toBeLessThanOrEqual(1);
  });

  it('of levels are 8:4:1, and low is never starved', () => {
    const world = new World({ slots: 4 });
    for (const level of LEVELS) world.submit(`t/${level}`, 3000, { priorityLevel: level });
    const starts = world.start(2600);
    for (const level of LEVELS) {
      const got = totals(starts, groupOf).get(`t/${level}`) ?? 0;
      const fair = 200 * LEVEL_WEIGHTS[level];
      expect(Math.abs(got / fair - 1), `${level} got ${got} of ${fair}`).toBeLessThanOrEqual(0.01);
    }
    const low = starts.flatMap((start, n) => (groupOf(start) === 't/low' ? [n] : []));
    const gaps = low.slice(1).map((at, n) => at - (low[n] as number));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(14);
  });

  it.each([
    [1, 8],
    [8, 1],
    [0.001, 1],
  ])('follow a weight that is changed from %d to %d after an hour, within 200 turns', (before, after) => {
    const world = new World({ slots: 4, plan: () => ({ ms: 7200 }) });
    world.limit('t0', { weight: before });
    for (const n of numbers(4)) world.submit(`t${n}/g`, 4000);
    world.pass(3_600_000, 3_600_000);
    world.limit('t0', { weight: after });
    const served = totals(world.start(200), tenantOf);
    for (const n of numbers(4)) {
      const fair = (200 * (n === 0 ? after : 1)) / (3 + after);
      const got = served.get(`t${n}`) ?? 0;
      expect(Math.abs(got - fair), `t${n} got ${got} of ${fair}`).toBeLessThanOrEqual(0.1 * fair);
    }
  });
});

describe('a newcomer', () => {
  it('behind a group with 100,000 queued jobs is served next', () => {
    const world = new World();
    world.submit('whale/g', 100_000);
    world.start(500);
    world.submit('new/g', 3);
    const next = world.start(4).map(tenantOf);
    expect(next[0]).toBe('new');
    expect(next.filter((tenant) => tenant === 'new').length).toBeGreaterThanOrEqual(2);
  });

  it('of a tenant with 5,000 waiting groups is served next too', () => {
    const world = new World();
    for (const n of numbers(5000)) world.submit(`whale/g${n}`, 2);
    world.start(6000);
    world.submit('new/g', 1);
    expect(world.start(2).map(tenantOf)).toContain('new');
  });

  it('waits beside a whale at most one job longer than alone, in 99 of 100 cases', () => {
    const waits = (isBeside: boolean): number => {
      const rng = seededRng('arrivals');
      const world = new World({ slots: 16, plan: (_attempt, times) => ({ ms: times.exponential(50) }) });
      if (isBeside) world.submit('whale/g', 20_000);
      const submitted: number[] = [];
      for (let n = 0; n < 500; n++) {
        // Half of its share: 16 slots do 320 jobs of 50 ms a second.
        const until = Math.ceil(world.nowMs + rng.exponential(1000 / 80));
        while (world.next(until) && world.nowMs < until);
        submitted.push(world.nowMs);
        world.submit('small/g', 1);
        world.settle();
      }
      world.pass(1000, 1000);
      const own = world.starts.filter((start) => tenantOf(start) === 'small');
      const sorted = own.map(({ atMs }, n) => atMs - (submitted[n] as number)).sort((a, b) => a - b);
      expect(sorted).toHaveLength(500);
      return sorted[494] as number;
    };
    expect(waits(true)).toBeLessThanOrEqual(waits(false) + 50);
  });
});

describe('credit', () => {
  it('is not earned by leaving and coming back, however often', () => {
    const world = new World();
    world.submit('always/g', 5000);
    world.submit('sometimes/g', 1);
    for (const round of numbers(40)) {
      world.start(50);
      world.submit('sometimes/g', 5);
      const back = world.start(20).map(tenantOf);
      expect(back.filter((tenant) => tenant === 'sometimes').length, `round ${round}`).toBe(5);
      const first = back.slice(0, 4).filter((tenant) => tenant === 'sometimes');
      expect(first.length, `round ${round}`).toBeLessThanOrEqual(2);
    }
  });

  it('does not pay a debt: it outlives an empty queue', () => {
    const world = new World();
    world.submit('steady/g', 2000);
    world.submit('heavy/g', [{ cost: 500 }]);
    world.start(100);
    world.submit('heavy/g', 10);
    expect(totals(world.start(350), tenantOf).get('heavy') ?? 0).toBe(0);
    expect(totals(world.start(200), tenantOf).get('heavy')).toBe(10);
  });

  it('is not earned by failing: retries are charged like first attempts', () => {
    const world = new World({
      slots: 8,
      plan: ({ tenantId }, rng) =>
        tenantId === 'flaky' && rng.chance(0.5)
          ? {
              ms: rng.exponential(5),
              outcome: {
                kind: 'retry',
                reason: 'TRANSIENT_ERROR',
                delayMs: rng.integer(1, 50),
                spendsRetry: true,
              },
            }
          : { ms: rng.exponential(5) },
    });
    for (const tenant of ['flaky', 'sound1', 'sound2']) world.submit(`${tenant}/g`, 4000);
    const starts = world.start(6000);
    expect(starts.filter(({ attempt }) => attempt > 1).length).toBeGreaterThan(500);
    for (const [tenant, got] of totals(starts, tenantOf))
      expect(Math.abs(got / 2000 - 1), `${tenant} started ${got}`).toBeLessThanOrEqual(0.01);
  });
});
