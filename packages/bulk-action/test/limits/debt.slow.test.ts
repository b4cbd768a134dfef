import { describe, expect, it } from 'vitest';
import { DirectEngine } from '../fairness/direct-engine.js';
import { busiestSecond } from '../fairness/measures.js';
import type { Start } from '../fairness/recorded-store.js';
import { VirtualEngine } from '../fairness/virtual-engine.js';

const times = (starts: readonly Start[]): number[] => starts.map(({ at }) => Math.round(at));

/** An engine with more slots than anything here may use. */
const direct = (seed: string) => new DirectEngine({ seed, slots: 200 });
/** The pool, when the moment at which it notices a change matters. */
const pooled = (seed: string) =>
  new VirtualEngine({
    seed,
    config: { workerPool: { workerCount: 100 }, backpressure: { globalRps: 0 } },
    serviceMs: () => 10,
  });

describe('bulk-action BA-2: a cost above the burst', () => {
  it('bulk-action BA-2: starts with a full bucket and leaves a debt', async () => {
    const engine = direct('debt');
    const costs = [50, 1, 1, 50, 1];
    await engine.submit({ id: 't/g', rps: 10, burst: 5 }, costs.length, (n) => ({ cost: costs[n] }));
    const starts = await engine.start(costs.length);
    // 50 starts are 5 s. A start of one comes 4 emissions earlier than the empty bucket is full: 5000 − 400; then one
    // every 100 ms. The next 50 wait for the full bucket, 5 s after the first and 0.2 s for the two between.
    expect(times(starts)).toEqual([0, 4600, 4700, 5200, 9800]);
  });

  it('bulk-action BA-2: the debt is the same for a tenant and for the engine', async () => {
    const ofTenant = direct('tenant debt');
    await ofTenant.service.updateTenant('t', { rps: 10, burst: 5 });
    const ofEngine = new DirectEngine({
      seed: 'engine debt',
      slots: 200,
      config: { backpressure: { globalRps: 10, burst: 5 } },
    });
    for (const engine of [ofTenant, ofEngine]) {
      await engine.submit({ id: 't/g' }, 1, () => ({ cost: 50 }));
      await engine.submit({ id: 't/h' }, 2);
      const starts = await engine.start(3);
      expect(times(starts)).toEqual([0, 4600, 4700]);
    }
  });

  it('bulk-action BA-2: does not start while the bucket is not full', async () => {
    const engine = direct('not full');
    const costs = [1, 1, 30];
    await engine.submit({ id: 't/g', rps: 10, burst: 5 }, costs.length, (n) => ({ cost: costs[n] }));
    expect(times(await engine.start(3))).toEqual([0, 0, 200]);
  });
});

describe('bulk-action BA-2: limits changed in mid-flight', () => {
  it('bulk-action BA-2: a raised limit acts at once on what is queued and parked', async () => {
    const engine = pooled('raised');
    await engine.submit({ id: 't/g', rps: 1 }, 3000);
    await engine.run(async () => {
      await engine.pass(5500);
      const before = engine.recording.starts.length;
      await engine.service.updateGroup('t/g', { rps: 1000 });
      await engine.pass(1000);
      const started = engine.recording.starts.length - before;
      expect(started, `${started} in the second after the change`).toBeGreaterThanOrEqual(1000);
      expect(busiestSecond(engine.recording.starts)).toBeLessThanOrEqual(1000 + 100);
    });
  });

  it('bulk-action BA-2: a lowered limit never lets more than the new limit and burst through', async () => {
    const engine = pooled('lowered');
    await engine.submit({ id: 't/g', rps: 500 }, 5000);
    await engine.run(async () => {
      await engine.pass(2000);
      const before = engine.recording.starts.length;
      await engine.service.updateGroup('t/g', { rps: 10 });
      await engine.pass(20_000);
      const after = engine.recording.starts.slice(before);
      const most = busiestSecond(after);
      expect(most, `${most} in a second after the change`).toBeLessThanOrEqual(10 + 1);
    });
  });

  it('bulk-action BA-2: a lowered limit with a smaller burst is not silent for what the old burst had spent', async () => {
    const engine = pooled('not silent');
    await engine.submit({ id: 't/g', rps: 1000 }, 5000);
    await engine.run(async () => {
      await engine.pass(2000);
      const { starts } = engine.recording;
      const before = starts.length;
      const at = engine.clock.monotonicMs();
      await engine.service.updateGroup('t/g', { rps: 10 });
      await engine.pass(20_000);
      const silent = (starts[before]?.at ?? Number.POSITIVE_INFINITY) - at;
      expect(silent, `silent for ${silent} ms`).toBeLessThanOrEqual(200);
      const perSecond = (starts.length - before) / 20;
      expect(perSecond, `${perSecond} per second after the change`).toBeGreaterThanOrEqual(9.5);
    });
  });

  it.each([
    { rps: 20, next: 2300 },
    { rps: 5, next: 9200 },
  ])('bulk-action BA-2: a new limit of $rps keeps the debt in starts', async ({ rps, next }) => {
    const engine = direct(`keeps ${rps}`);
    const costs = [50, 1];
    await engine.submit({ id: 't/g', rps: 10, burst: 5 }, costs.length, (n) => ({ cost: costs[n] }));
    await engine.start(1);
    await engine.service.updateGroup('t/g', { rps });
    expect(times(await engine.start(1)), 'fifty starts less four at the new rate').toEqual([next]);
  });

  it('bulk-action BA-2: the debt of a tenant stays too', async () => {
    const engine = direct('tenant keeps');
    await engine.service.updateTenant('t', { rps: 10, burst: 5 });
    const costs = [50, 1];
    await engine.submit({ id: 't/g' }, costs.length, (n) => ({ cost: costs[n] }));
    await engine.start(1);
    await engine.service.updateTenant('t', { rps: 20 });
    expect(times(await engine.start(1))).toEqual([2300]);
  });

  it.each(['group', 'tenant'] as const)(
    'bulk-action BA-2: a %s limit that is taken away holds nothing back any more',
    async (scope) => {
      const engine = pooled(`removed ${scope}`);
      const limit = { rps: 1 };
      if (scope === 'tenant') await engine.service.updateTenant('t', limit);
      await engine.submit({ id: 't/g', ...(scope === 'group' && limit) }, 2000);
      await engine.run(async () => {
        await engine.pass(3500);
        const { starts } = engine.recording;
        expect(starts.length).toBeLessThanOrEqual(5);
        if (scope === 'tenant') await engine.service.updateTenant('t', { rps: null });
        else await engine.service.updateGroup('t/g', { rps: null });
        await engine.pass(250);
        expect(starts.length, '100 workers, 10 ms each').toBeGreaterThanOrEqual(1900);
      });
    },
  );

  it.each(['group', 'tenant'] as const)(
    'bulk-action BA-2: a %s limit given to work already queued and ready acts at once',
    async (scope) => {
      const engine = pooled(`given ${scope}`);
      await engine.submit({ id: 't/g' }, 50_000);
      await engine.run(async () => {
        await engine.pass(500);
        const { starts } = engine.recording;
        const before = starts.length;
        expect(before).toBeGreaterThan(4000);
        if (scope === 'tenant') await engine.service.updateTenant('t', { rps: 50, burst: 5 });
        else await engine.service.updateGroup('t/g', { rps: 50, burst: 5 });
        await engine.pass(5000);
        const after = starts.slice(before);
        const most = busiestSecond(after);
        expect(most, `${most} in a second after the change`).toBeLessThanOrEqual(55);
        expect(after.length, 'and the limit is used').toBeGreaterThanOrEqual(0.97 * 250);
      });
    },
  );
});
