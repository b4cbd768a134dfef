import { expect, it } from 'vitest';
import type { LeasedJob } from '../../src/lease.js';
import {
  countsOf,
  fill,
  group,
  Instance,
  job,
  jobs,
  numbers,
  type OpenStore,
  succeed,
  success,
} from './tools.js';

interface Party {
  readonly name: string;
  readonly weight: number;
  readonly cost?: number;
}

/** The bound of start-time fair queueing over every interval of an order in which both had work waiting. */
function expectFair(order: readonly string[], a: Party, b: Party): void {
  const costs = { a: a.cost ?? 1, b: b.cost ?? 1 };
  let ahead = 0;
  let least = 0;
  let most = 0;
  for (const name of order) {
    if (name === a.name) ahead += costs.a / a.weight;
    if (name === b.name) ahead -= costs.b / b.weight;
    least = Math.min(least, ahead);
    most = Math.max(most, ahead);
  }
  expect(order).toContain(a.name);
  expect(order).toContain(b.name);
  expect(most - least, order.join(' ')).toBeLessThanOrEqual(costs.a / a.weight + costs.b / b.weight + 1e-9);
}

const keysOf = (leases: readonly LeasedJob[]): string[] => leases.map(({ key }) => key);
const count = (order: readonly string[], name: string): number => order.filter((one) => one === name).length;

/** Who comes next when everybody is as heavy as configured. */
export function ordering(open: OpenStore): void {
  it('a lane keeps the order in which its jobs came', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 20);
    await fill(harness, group('/g'), jobs(20, {}, 'k'));
    const order = (await new Instance(harness).take()).map(({ jobId }) => jobId);
    expect(order).toEqual([...jobs(20), ...jobs(20, {}, 'k')].map(({ id }) => id));
  });

  it('tenants share by weight, whatever they have queued', async () => {
    const harness = await open({}, 'one shard');
    await harness.store.groups.updateTenant('b', { weight: 3 });
    await fill(harness, group('a/g'), 200);
    await fill(harness, group('b/g'), 60);
    await fill(harness, group('c/g'), 60);
    const order = keysOf(await new Instance(harness).take(80));
    const [a, b, c] = [1, 3, 1].map((weight, n) => ({ name: `${'abc'[n]}/g`, weight })) as [
      Party,
      Party,
      Party,
    ];
    expectFair(order, a, b);
    expectFair(order, a, c);
    expectFair(order, b, c);
  });

  it('a hundred groups of one tenant get one share', async () => {
    const harness = await open({}, 'one shard');
    for (const n of numbers(100)) await fill(harness, group(`many/g${n}`), 2);
    await fill(harness, group('one/g'), 60);
    const order = (await new Instance(harness).take(100)).map(({ tenant }) => tenant);
    expectFair(order, { name: 'many', weight: 1 }, { name: 'one', weight: 1 });
  });

  it('groups of a tenant share by weight and level; low is not starved', async () => {
    const harness = await open();
    await fill(harness, group('t/high', { priorityLevel: 'high', weight: 2 }), 200);
    await fill(harness, group('t/low', { priorityLevel: 'low' }), 50);
    const order = keysOf(await new Instance(harness).take(120));
    expectFair(order, { name: 't/high', weight: 16 }, { name: 't/low', weight: 1 });
  });

  it('a group without tenant counts with its own effective weight', async () => {
    const harness = await open({}, 'one shard');
    await fill(harness, group('/high', { priorityLevel: 'high' }), 200);
    await fill(harness, group('/low', { priorityLevel: 'low' }), 50);
    const order = keysOf(await new Instance(harness).take(120));
    expectFair(order, { name: '/high', weight: 8 }, { name: '/low', weight: 1 });
  });

  it('a job counts its cost, or where a function charges what that said', async () => {
    const harness = await open({ fairQueue: { charge: () => 1 } }, 'one shard');
    await fill(harness, group('a/g'), jobs(50, { cost: 5 }));
    await fill(harness, group('b/g'), jobs(50, { cost: 5, charge: 1 }));
    await fill(harness, group('c/g'), jobs(50));
    const order = keysOf(await new Instance(harness).take(44));
    expectFair(order, { name: 'a/g', weight: 1, cost: 5 }, { name: 'c/g', weight: 1 });
    expectFair(order, { name: 'b/g', weight: 1 }, { name: 'c/g', weight: 1 });
  });
}

/** Who comes, leaves and comes back. */
export function arriving(open: OpenStore): void {
  it('a newcomer behind thousands of queued jobs is served next', async () => {
    const harness = await open({}, 'one shard');
    for (const n of numbers(5)) await fill(harness, group('old/g'), jobs(1000, {}, `${n}-`));
    const instance = new Instance(harness);
    await instance.take(100);
    await fill(harness, group('new/g'), 5);
    expect(keysOf(await instance.take(2))).toContain('new/g');
    expect(count(keysOf(await instance.take(10)), 'new/g')).toBeGreaterThanOrEqual(3);
  });

  it('leaving and coming back earns no credit', async () => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('a/g'), 300);
    await fill(harness, group('b/g'), 1);
    await instance.take(100);
    await fill(harness, group('b/g'), jobs(50, {}, 'back'));
    expectFair(keysOf(await instance.take(40)), { name: 'a/g', weight: 1 }, { name: 'b/g', weight: 1 });
  });

  it.each([
    ['tenants', 'a/g', 'b/g'],
    ['groups of a tenant', 't/a', 't/b'],
  ])('what %s owe is forgotten when a busy period is over', async (_, heavy, light) => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group(heavy), [job('huge', { cost: 1000 })]);
    await instance.finish();
    await fill(harness, group(heavy), jobs(20));
    await fill(harness, group(light), jobs(20));
    expectFair(keysOf(await instance.take(20)), { name: heavy, weight: 1 }, { name: light, weight: 1 });
  });

  it('costs nothing when a busy period is over', async () => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('a/g'), 200);
    await instance.finish();
    await fill(harness, group('b/g'), jobs(20));
    await fill(harness, group('a/g'), jobs(20, {}, 'again'));
    expectFair(keysOf(await instance.take(20)), { name: 'a/g', weight: 1 }, { name: 'b/g', weight: 1 });
  });
}

/** Who comes next when the weights move. */
export function reordering(open: OpenStore): void {
  it('a new weight acts on work already queued, at once', async () => {
    const harness = await open({}, 'one shard');
    const { groups } = harness.store;
    const instance = new Instance(harness);
    for (const key of ['a/g', 'b/g', 't/x', 't/y']) await fill(harness, group(key), 300);
    await instance.take(40);
    await groups.updateTenant('a', { weight: 10 });
    await groups.update('t/x', { weight: 5 });
    const order = keysOf(await instance.take(130));
    // A change in the middle moves tags: one step more than the bound of a steady weight.
    expect(count(order, 'a/g') / count(order, 'b/g')).toBeGreaterThan(8);
    expect(count(order, 't/x')).toBeGreaterThanOrEqual(3 * count(order, 't/y'));

    await groups.updateTenant('a', { weight: 1 });
    const after = keysOf(await instance.take(60));
    expect(Math.abs(count(after, 'a/g') - count(after, 'b/g'))).toBeLessThanOrEqual(3);
  });

  it('alpha: a group that is nearly done gets on faster', async () => {
    const harness = await open({ fairQueue: { alpha: 9 } });
    const instance = new Instance(harness);
    await fill(harness, group('t/near'), 40);
    await succeed(harness, await instance.exactly(20));
    await fill(harness, group('t/far'), 40);
    const order = keysOf(await instance.take(12));
    expect(count(order, 't/near')).toBeGreaterThanOrEqual(3 * count(order, 't/far'));
    expect(order).toContain('t/far');
  });

  it('maxShare: a group that holds its part waits while another can run, and only then', async () => {
    const harness = await open({ fairQueue: { maxShare: 0.5 } }, 'one shard');
    const instance = new Instance(harness, 'one', 4);
    await harness.store.groups.updateTenant('heavy', { weight: 1000 });
    await fill(harness, group('heavy/g'), 20);
    await fill(harness, group('light/g'), 2);
    await instance.fetch(4);
    expect((await countsOf(harness, 'heavy/g')).ready).toBe(2);
    expect((await countsOf(harness, 'light/g')).ready).toBe(2);
    // Every waiting slot has its job: nobody goes beyond its part for a queue.
    expect(await instance.fetch(4)).toMatchObject({ ready: 0 });
    await succeed(harness, await instance.reserve());
    await instance.fetch(4);
    expect((await countsOf(harness, 'heavy/g')).ready).toBe(4);
  });
}

/** Turns by time and by order. */
export function charging(open: OpenStore): void {
  it('charge time: who runs long jobs gets fewer of them', async () => {
    const harness = await open({ fairQueue: { charge: 'time' } }, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('long/g'), 200);
    await fill(harness, group('short/g'), 400);
    const used = { 'long/g': 0, 'short/g': 0 };
    for (let n = 0; n < 220; n++) {
      const [lease] = await instance.exactly(1);
      const key = lease.key as keyof typeof used;
      const durationMs = key === 'long/g' ? 100 : 10;
      await harness.store.leases.settle([success(lease, durationMs)]);
      used[key] += durationMs;
    }
    const share = used['long/g'] / (used['long/g'] + used['short/g']);
    expect(share).toBeGreaterThan(0.4);
    expect(share).toBeLessThan(0.6);
    // Charged in advance by what is known of their time: not only when they end.
    const order = keysOf(await instance.exactly(44));
    expect(count(order, 'long/g')).toBeLessThanOrEqual(8);
  });

  it('a job that could not start does not lose its place to later ones of its group', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g', { concurrency: 1 }), [job('first'), job('second'), job('third')]);
    const order: string[] = [];
    for (let n = 0; n < 3; n++) {
      const leases = await instance.take();
      await succeed(harness, leases);
      order.push(...leases.map(({ jobId }) => jobId));
    }
    expect(order).toEqual(['first', 'second', 'third']);
  });
}
