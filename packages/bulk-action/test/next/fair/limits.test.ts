import { defaultBurst } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { jain, totals } from '../../fairness/measures.js';
import { groupOf, numbers, tenantOf, World, workerTime } from './world.js';

const SLOW_MS = 20_000;

describe('maxShare', () => {
  it('holds a group back while another can run, and no longer', () => {
    const world = new World({
      slots: 10,
      config: { fairQueue: { maxShare: 0.25 } },
      plan: ({ tenantId }, rng) => ({ ms: tenantId === 'whale' ? SLOW_MS : rng.integer(40, 60) }),
    });
    world.limit('whale', { weight: 1000 });
    for (const n of numbers(5)) world.submit(`other${n}/g`, 300);
    world.submit('whale/g', 500);
    for (const _ of numbers(1000)) {
      world.next();
      expect(world.running.filter(({ tenantId }) => tenantId === 'whale').length).toBeLessThanOrEqual(3);
    }
    expect(world.running.filter(({ tenantId }) => tenantId === 'whale')).toHaveLength(3);
    expect(world.running.length).toBeGreaterThanOrEqual(9);
    world.pass(4 * SLOW_MS, 1000);
    expect(world.running.map(tenantOf)).toEqual(Array(10).fill('whale'));
  });

  it('gives a slot to the group that holds the least if all are at their share', () => {
    const world = new World({
      slots: 10,
      config: { fairQueue: { maxShare: 0.3 } },
      plan: () => ({ ms: SLOW_MS }),
    });
    world.limit('whale', { weight: 1000 });
    for (const tenant of ['whale', 'other']) world.submit(`${tenant}/g`, 100);
    world.settle();
    expect(totals(world.running, tenantOf)).toEqual(
      new Map([
        ['whale', 5],
        ['other', 5],
      ]),
    );
  });
});

describe('ready', () => {
  it('holds the batch size while no slot lives, and at most its maximum', () => {
    for (const [fetchBatchSize, readyQueueMaxSize, expected] of [
      [7, 100, 7],
      [50, 10, 10],
    ] as const) {
      const world = new World({
        slots: {},
        config: { workerPool: { fetchBatchSize }, backpressure: { readyQueueMaxSize } },
      });
      world.submit('t/g', 60);
      world.settle();
      expect(world.state.readyJobs).toBe(expected);
    }
  });

  it('is empty while all slots are busy: a newcomer waits for one free slot only', () => {
    const world = new World({ slots: 10, plan: (_attempt, rng) => ({ ms: rng.integer(5000, 9000) }) });
    world.submit('whale/g', 500);
    world.settle();
    expect(world.state.readyJobs).toBe(0);
    world.submit('new/g', 5);
    expect(world.start(1).map(tenantOf)).toEqual(['new']);
  });
});

describe('15,000 jobs at a fixed rate', () => {
  it.each(['global', 'tenant', 'group'] as const)('under a %s limit take what the rate allows', (scope) => {
    const rps = 1000;
    const world = new World({
      slots: 50,
      config: scope === 'global' ? { backpressure: { globalRps: rps } } : {},
      plan: (_attempt, rng) => ({ ms: rng.exponential(20) }),
    });
    if (scope === 'tenant') world.limit('a', { rps });
    world.submit('a/g', 15_000, scope === 'group' ? { rps } : {});
    const fromMs = world.nowMs;
    while (world.starts.length < 15_000 && world.nowMs < fromMs + 20_000) world.pass(10);
    const ideal = ((15_000 - defaultBurst(rps)) / rps) * 1000;
    const span = (world.starts.at(-1)?.atMs as number) - (world.starts[0]?.atMs as number);
    expect(world.starts).toHaveLength(15_000);
    expect(span / ideal).toBeLessThanOrEqual(1.02);
    expect(span / ideal).toBeGreaterThanOrEqual(0.999);
  });

  it('leave no slot idle beside a parked group', () => {
    const world = new World({ slots: 16, plan: (_attempt, rng) => ({ ms: rng.exponential(40) }) });
    world.submit('a/limited', 3000, { rps: 10, burst: 2, weight: 100 });
    world.submit('b/free', 6000);
    world.pass(5000);
    expect(Math.abs((totals(world.starts, groupOf).get('a/limited') as number) - 51)).toBeLessThanOrEqual(2);
    expect(world.running).toHaveLength(16);
  });
});

describe('charge', () => {
  it('by time shares worker time between tenants whose jobs differ tenfold in length', () => {
    const world = new World({
      slots: 8,
      config: { fairQueue: { charge: 'time' } },
      plan: ({ tenantId }, rng) => ({ ms: rng.exponential(tenantId.startsWith('long') ? 200 : 20) }),
    });
    const tenants = ['short1', 'short2', 'long1', 'long2'];
    for (const tenant of tenants) world.submit(`${tenant}/g`, 4000);
    const fromMs = world.nowMs;
    world.pass(30_000, 1000);
    const busy = workerTime(world.starts, tenantOf, fromMs + 5000, fromMs + 30_000);
    expect(jain(tenants.map((tenant) => busy.get(tenant) ?? 0))).toBeGreaterThanOrEqual(0.99);
  });

  it('by a function shares what was submitted as the charge', () => {
    const world = new World({ slots: 8 });
    for (const [tenant, charge] of [
      ['large', 50],
      ['medium', 10],
      ['small', 1],
    ] as const)
      world.submit(
        `${tenant}/g`,
        numbers(3000).map(() => ({ charge })),
      );
    const served = totals(world.start(3000), tenantOf, ({ body }) => body.charge as number);
    expect(jain([...served.values()])).toBeGreaterThanOrEqual(0.99);
  });
});
