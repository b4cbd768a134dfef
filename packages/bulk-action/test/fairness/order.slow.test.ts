import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { again, DirectEngine } from './direct-engine.js';
import { type Contender, groupOf, tenantOf, totals, worstDrift } from './measures.js';
import type { Start } from './recorded-store.js';

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);
const LEVELS = ['high', 'normal', 'low'] as const;
const LEVEL_WEIGHTS = { high: 8, normal: 4, low: 1 };

describe('bulk-action BA-1: priority levels', () => {
  it('bulk-action BA-1: levels share 8:4:1 and low is never starved', async () => {
    const engine = new DirectEngine({ seed: 'levels', slots: 4 });
    for (const level of LEVELS) await engine.submit({ id: `t/${level}`, priorityLevel: level }, 3000);
    const starts = await engine.start(2600);
    const served = totals(starts, groupOf);
    for (const level of LEVELS) {
      const fair = (2600 * LEVEL_WEIGHTS[level]) / 13;
      const got = served.get(`t/${level}`) ?? 0;
      expect(Math.abs(got / fair - 1), `${level} got ${got}, its share is ${fair}`).toBeLessThanOrEqual(0.01);
    }
    const low = starts.flatMap((start, n) => (groupOf(start) === 't/low' ? [n] : []));
    const gaps = low.slice(1).map((at, n) => at - (low[n] ?? 0));
    expect(Math.max(...gaps), 'turns between two of low').toBeLessThanOrEqual(14);
  });
});

describe('bulk-action BA-1: alpha', () => {
  /** Turns until the group that is nearly done has started its last job, beside one that has just begun. */
  async function turnsToFinish(alpha: number): Promise<number> {
    const engine = new DirectEngine({ seed: 'alpha', config: { fairQueue: { alpha } } });
    await engine.submit({ id: 't/near' }, 1000);
    await engine.start(900);
    await engine.submit({ id: 't/far' }, 1000);
    const before = engine.starts.length;
    await engine.run(() => totals(engine.starts, groupOf).get('t/near') === 1000);
    return engine.starts.length - before;
  }

  it('bulk-action BA-1: alpha lets a group that is nearly done finish sooner, at most 1 + alpha times as fast', async () => {
    const [even, preferred, strongly] = [
      await turnsToFinish(0),
      await turnsToFinish(1),
      await turnsToFinish(9),
    ];
    const shown = `${even} turns without, ${preferred} with 1, ${strongly} with 9`;
    expect(Math.abs(even - 200), shown).toBeLessThanOrEqual(2);
    // Of three turns two are its own while it has twice the weight, and of eleven ten.
    expect(preferred, shown).toBeGreaterThanOrEqual(150);
    expect(preferred, shown).toBeLessThanOrEqual(160);
    expect(strongly, shown).toBeGreaterThanOrEqual(110);
    expect(strongly, shown).toBeLessThanOrEqual(115);
  });
});

describe('bulk-action BA-1: no credit and no escape', () => {
  it('bulk-action BA-1: leaving and coming back earns nothing, however often', async () => {
    const engine = new DirectEngine({ seed: 'back again' });
    await engine.submit({ id: 'always/g' }, 5000);
    await engine.submit({ id: 'sometimes/g' }, 1);
    for (const round of numbers(40)) {
      await engine.start(50);
      const before = engine.starts.length;
      await engine.add('sometimes/g', 5);
      const back = await engine.start(20);
      const got = totals(back, tenantOf).get('sometimes') ?? 0;
      expect(got, `all its five within twenty, round ${round}`).toBe(5);
      const firsts = engine.starts.slice(before, before + 4).filter((one) => tenantOf(one) === 'sometimes');
      expect(firsts.length, `every other turn and no more, round ${round}`).toBeLessThanOrEqual(2);
    }
  });

  it('bulk-action BA-1: a debt outlives an empty lane', async () => {
    const engine = new DirectEngine({ seed: 'debt', config: { limits: { costMax: 1000 } } });
    await engine.submit({ id: 'steady/g' }, 2000);
    await engine.submit({ id: 'heavy/g' }, 1, () => ({ cost: 500 }));
    await engine.start(100);
    expect(totals(engine.starts, tenantOf).get('heavy')).toBe(1);
    await engine.add('heavy/g', 10);
    const next = totals(await engine.start(350), tenantOf);
    expect(next.get('heavy') ?? 0, 'it has had 500 already').toBe(0);
    expect(totals(await engine.start(200), tenantOf).get('heavy'), 'and is even then').toBe(10);
  });

  it('bulk-action BA-1: a due retry takes its group’s next turn', async () => {
    const engine = new DirectEngine({
      seed: 'retry turn',
      plan: ({ jobId, attempt }) =>
        jobId === 'j3' && attempt === 1 ? { ms: 1, outcome: again(40) } : { ms: 1 },
    });
    for (const tenant of ['a', 'b', 'c']) await engine.submit({ id: `${tenant}/g` }, 400);
    const starts = await engine.start(300);
    for (const tenant of ['a', 'b', 'c']) {
      const own = starts.filter((start) => tenantOf(start) === tenant);
      const first = own.find(({ job }) => job.jobId === 'j3') as Start;
      const second = own.find(({ job }) => job.jobId === 'j3' && job.attempt === 2) as Start;
      const due = (first.endedAt ?? 0) + 40;
      const ownAfterDue = own.filter(({ at }) => at >= due);
      expect(ownAfterDue[0], `${tenant}: due at ${due}, started at ${second.at}`).toBe(second);
    }
  });

  it('bulk-action BA-1: retries are charged: who fails half of its tries gets no more starts', async () => {
    const engine = new DirectEngine({
      seed: 'charged retries',
      slots: 8,
      plan: ({ tenantId }, rng) =>
        tenantId === 'flaky' && rng.chance(0.5)
          ? { ms: rng.exponential(5), outcome: again(rng.integer(1, 50)) }
          : { ms: rng.exponential(5) },
    });
    for (const tenant of ['flaky', 'sound1', 'sound2']) await engine.submit({ id: `${tenant}/g` }, 4000);
    const starts = await engine.start(6000);
    expect(starts.filter(({ job }) => job.attempt > 1).length, 'retries').toBeGreaterThan(500);
    const served = totals(starts, tenantOf);
    for (const [tenant, got] of served)
      expect(Math.abs(got / 2000 - 1), `${tenant} started ${got} of 6000`).toBeLessThanOrEqual(0.01);
  });
});

interface Party extends Contender {
  readonly tenant: string;
}

/** Tenants and groups of random weights, with jobs of random costs, enough for everybody to have work waiting. */
async function randomLoad(
  engine: DirectEngine,
  rng: Rng,
): Promise<{ tenants: Contender[]; groups: Party[] }> {
  const tenants: Contender[] = [];
  const groups: Party[] = [];
  for (const n of numbers(rng.integer(2, 5))) {
    const weight = rng.integer(1, 80) / rng.integer(1, 10);
    await engine.service.updateTenant(`t${n}`, { weight });
    let tenantCostMax = 0;
    for (const m of numbers(rng.integer(1, 4))) {
      const own = { weight: rng.integer(1, 40) / rng.integer(1, 8), priorityLevel: rng.pick(LEVELS) };
      const most = rng.pick([1, 5, 50]);
      const costs = numbers(400).map(() => rng.integer(1, most));
      const costMax = Math.max(...costs);
      tenantCostMax = Math.max(tenantCostMax, costMax);
      const name = `t${n}/g${m}`;
      await engine.submit({ id: name, ...own }, 400, (index) => ({ cost: costs[index] }));
      groups.push({ name, tenant: `t${n}`, costMax, weight: own.weight * LEVEL_WEIGHTS[own.priorityLevel] });
    }
    tenants.push({ name: `t${n}`, weight, costMax: tenantCostMax });
  }
  return { tenants, groups };
}

describe('bulk-action BA-1: the bound of start-time fair queueing (I6)', () => {
  it.each(numbers(20))(
    'bulk-action BA-1: random weights and costs stay within the bound at both levels (seed %i)',
    async (seed) => {
      const rng = seededRng(`sfq ${seed}`);
      const engine = new DirectEngine({
        seed: `sfq ${seed}`,
        slots: rng.integer(1, 32),
        plan: (_job, times) => ({ ms: times.exponential(10) }),
      });
      const { tenants, groups } = await randomLoad(engine, rng);
      // Nobody runs out: not even one that is served alone.
      const starts = await engine.start(390);
      const turns = (nameOf: (start: Start) => string, own: readonly Start[]) =>
        own.map((start) => ({ name: nameOf(start), cost: start.job.cost }));
      const between = worstDrift(turns(tenantOf, starts), tenants);
      expect(between, `tenants drift ${between} of the bound`).toBeLessThanOrEqual(1 + 1e-9);
      for (const { name } of tenants) {
        const own = starts.filter((start) => tenantOf(start) === name);
        const inside = groups.filter(({ tenant }) => tenant === name);
        const drift = worstDrift(turns(groupOf, own), inside);
        expect(drift, `groups of ${name} drift ${drift} of the bound`).toBeLessThanOrEqual(1 + 1e-9);
      }
    },
  );
});
