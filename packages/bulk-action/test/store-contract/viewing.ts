import { expect, it } from 'vitest';
import { emissionUs } from '../../src/rules/gcra.js';
import {
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobs,
  listed,
  numbers,
  type OpenStore,
  retry,
  SLACK_MS,
  SLOW_RPS,
  type StoreHarness,
  settle,
  succeed,
  success,
} from './tools.js';

/** Lists and single looks. */
export function listing(open: OpenStore): void {
  it('nothing is there', async () => {
    const { views } = (await open()).store;
    expect(await views.group('/none')).toBeUndefined();
    expect(await views.job('/none', 'j')).toBeUndefined();
    expect(await views.tenant('none')).toBeUndefined();
    expect(await views.explain('/none', 'j')).toBeUndefined();
    expect(await views.jobs('/none', {}, 10)).toMatchObject({ items: [] });
    expect(await views.groups({}, 10)).toMatchObject({ items: [] });
    expect(await views.fairness(10)).toEqual([]);
    expect(await views.queues()).toMatchObject({
      groups: 0,
      parkedGroups: 0,
      lane: 0,
      ready: 0,
      nonReady: 0,
      inFlight: 0,
      deadLetters: 0,
      liveSlots: 0,
      waitingSlots: 0,
      startsPerSecond: 0,
      oldestWaitingMs: 0,
    });
  });

  it('groups: newest first, in pages, by namespace, fairness unit and status', async () => {
    const harness = await open();
    const { groups, views } = harness.store;
    for (const n of numbers(9)) {
      const tenant = n % 3 === 0 ? 'a' : 'b';
      await groups.create(group(`${tenant}/g${n}`, n === 4 ? { tenantId: 'a' } : {}));
      await harness.advance(10);
    }
    await groups.cancel('a/g3');
    await groups.seal('b/g1');
    const ids = async (filter: Parameters<typeof views.groups>[0], limit = 2) =>
      (await listed((cursor) => views.groups(filter, limit, cursor))).map(({ id }) => id);
    const all = ['b/g8', 'b/g7', 'a/g6', 'b/g5', 'b/g4', 'a/g3', 'b/g2', 'b/g1', 'a/g0'];
    expect(await ids({})).toEqual(all);
    expect(await ids({}, 100)).toEqual(all);
    expect(await ids({ tenant: 'a' })).toEqual(['a/g6', 'a/g3', 'a/g0']);
    expect(await ids({ tenantId: 'a' })).toEqual(['a/g6', 'b/g4', 'a/g3', 'a/g0']);
    expect(await ids({ status: 'CANCELLED' })).toEqual(['a/g3']);
    expect(await ids({ status: 'COMPLETED' })).toEqual(['b/g1']);
    expect(await ids({ tenant: 'a', status: 'CREATED' })).toEqual(['a/g6', 'a/g0']);
    expect(await ids({ tenant: 'b', tenantId: 'a' })).toEqual(['b/g4']);
    expect(await ids({ tenant: 'none' })).toEqual([]);
    expect((await views.groups({}, 4)).items.length).toBeLessThanOrEqual(4);
  });

  it('active groups: neither ended nor paused, about the newest of many', async () => {
    const harness = await open();
    const { groups, views } = harness.store;
    for (const n of numbers(7)) {
      await groups.create(group(`b/g${n}`));
      await harness.advance(SLACK_MS);
    }
    await groups.cancel('b/g3');
    await groups.seal('b/g1');
    await groups.pause('b/g5');
    const ids = async (limit: number) => (await views.activeGroups(limit)).map(({ id }) => id);
    expect(await ids(10)).toEqual(['b/g6', 'b/g4', 'b/g2', 'b/g0']);
    expect(await ids(2)).toEqual(['b/g6', 'b/g4']);
    await groups.resume('b/g5');
    const [first] = await views.activeGroups(10);
    expect(first).toEqual(await views.group(`b/${first?.id.slice(2)}`));
    expect((await ids(10)).sort()).toEqual(['b/g0', 'b/g2', 'b/g4', 'b/g5', 'b/g6']);
  });
}

/** Jobs of a group. */
export function listingJobs(open: OpenStore): void {
  it('jobs: every one once, in pages, by state', async () => {
    const harness = await open();
    const { views } = harness.store;
    await fill(harness, group('/g'), 25);
    const [a, b] = await new Instance(harness).exactly(3);
    await settle(harness, success(a));
    await settle(harness, retry(b));
    const ids = async (filter: Parameters<typeof views.jobs>[1], limit = 4) =>
      (await listed((cursor) => views.jobs('/g', filter, limit, cursor))).map(({ id }) => id).toSorted();
    const names = jobs(25).map(({ id }) => id);
    expect(await ids({})).toEqual(names.toSorted());
    expect(await ids({}, 1000)).toEqual(names.toSorted());
    expect(await ids({ state: 'COMPLETED' })).toEqual(['j0']);
    expect(await ids({ state: 'PROCESSING' })).toEqual(['j2']);
    expect(await ids({ state: 'PENDING' })).toEqual(['j1', ...names.slice(3)].toSorted());
    expect(await ids({ state: 'FAILED' })).toEqual([]);
    expect((await views.jobs('/g', {}, 4)).items.length).toBeLessThanOrEqual(4);
  });

  it('a look changes nothing', async () => {
    const harness = await open();
    const { views, gate } = harness.store;
    await fill(harness, group('t/g', { rps: SLOW_RPS, burst: 2 }), 5);
    const before = await views.queues();
    for (let n = 0; n < 3; n++) {
      await views.explain('t/g', 'j3');
      await gate.checkRate('t/g', 1);
      await views.fairness(5);
    }
    expect(await views.queues()).toEqual(before);
    expect(await new Instance(harness).take()).toHaveLength(2);
  });
}

/** Tenants, shares and queues. */
export function sharing(open: OpenStore): void {
  it('a tenant shows what it wants, holds and was served', async () => {
    const harness = await open();
    const { views } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('t/a'), jobs(3, { cost: 2 }));
    await fill(harness, group('t/b'), 2);
    expect(await views.tenant('t')).toMatchObject({ id: 't', weight: 1, groups: 2, pending: 5, inFlight: 0 });
    const leases = await instance.take();
    expect(await views.tenant('t')).toMatchObject({ pending: 0, inFlight: 5 });
    await succeed(harness, leases);
    const view = await views.tenant('t');
    expect(view).toMatchObject({ groups: 2, pending: 0, inFlight: 0, served: 8 });
    expect(view?.servedPerSecond).toBeGreaterThan(0);
    await harness.store.groups.seal('t/a');
    expect((await views.tenant('t'))?.groups).toBe(1);
  });

  it('fairness: shares of what was served, and what weights entitle to', async () => {
    const harness = await open({}, 'one shard');
    await harness.store.groups.updateTenant('heavy', { weight: 3 });
    for (const key of ['heavy/g', 'light/g']) await fill(harness, group(key), 60);
    await succeed(harness, await new Instance(harness).exactly(40));
    const shares = await harness.store.views.fairness(10);
    expect(shares.map(({ id }) => id)).toEqual(['heavy', 'light']);
    expect(shares.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 5);
    expect(shares[0]?.share).toBeCloseTo(0.75, 1);
    expect(shares.map(({ fairShare }) => fairShare)).toEqual([0.75, 0.25]);
    expect(await harness.store.views.fairness(1)).toHaveLength(1);
  });

  it('queues: every place counted', async () => {
    const harness = await open();
    const instance = new Instance(harness, 'one', 7);
    await fill(harness, group('/g'), 6);
    await settle(harness, retry((await instance.exactly(2))[0], { reason: 'API_THROTTLED' }));
    await instance.fetch(1);
    const now = await harness.now();
    await fill(harness, group('/h', { rps: SLOW_RPS, burst: 1 }), [
      job('a'),
      job('b', { notBefore: now + HOUR_MS }),
    ]);
    expect(await harness.store.views.queues()).toMatchObject({
      groups: 2,
      parkedGroups: 0,
      lane: 4,
      ready: 1,
      nonReady: 2,
      nonReadyByReason: { API_THROTTLED: 1, SCHEDULED: 1, RATE_LIMITED: 0, ORPHANED: 0 },
      inFlight: 1,
      deadLetters: 0,
      liveSlots: 7,
      waitingSlots: 7,
    });
  });

  it('queues: how long the first in line have waited', async () => {
    const harness = await open({}, 'one shard');
    const { groups, views } = harness.store;
    const oldest = async () => (await views.queues()).oldestWaitingMs;
    const about = (ms: number) => ({
      asymmetricMatch: (is: number) => is >= ms && is <= ms + SLACK_MS,
      toString: () => `${ms} to ${ms + SLACK_MS}`,
    });
    const instance = new Instance(harness, 'one', 7);
    expect(await oldest()).toBe(0);
    await fill(harness, group('a/g'), 2);
    await harness.advance(10_000);
    await fill(harness, group('b/g'), 1);
    await fill(harness, group('c/g', { rps: SLOW_RPS, burst: 1 }), 1);
    expect(await oldest()).toEqual(about(10_000));
    await groups.pause('a/g');
    expect(await oldest()).toEqual(about(0));
    await groups.resume('a/g');
    await instance.fetch(1);
    await groups.pause('a/g');
    expect(await oldest()).toEqual(about(0));
    await groups.resume('a/g');
    expect(await oldest()).toEqual(about(10_000));
    const leases = await instance.exactly(4);
    expect(await oldest()).toBe(0);
    await settle(harness, retry(leases[0], { delayMs: 30_000 }));
    await harness.advance(20_000);
    expect(await oldest()).toBe(0);
    await harness.advance(15_000);
    expect(await oldest()).toEqual(about(5000));
    await harness.store.gate.dispatch(1);
    await harness.advance(1000);
    expect(await oldest()).toEqual(about(6000));
    await groups.cancel('a/g');
    expect(await oldest()).toBe(0);
  });

  it('queues: who waits for a limited resource is in its line', async () => {
    const harness = await open({ resources: { mail: { rps: SLOW_RPS } } });
    const { gate, views } = harness.store;
    const instance = new Instance(harness, 'one', 7);
    await fill(harness, group('t/g'), jobs(3, { processorType: 'mail' }));
    await instance.exactly(1);
    await gate.fetch(10);
    await harness.advance(20_000);
    expect(await views.queues()).toMatchObject({ ready: 0, lane: 2 });
    expect((await views.queues()).oldestWaitingMs).toBeGreaterThanOrEqual(20_000);
    await fill(harness, group('u/g'), 1);
    expect((await views.queues()).oldestWaitingMs).toBeGreaterThanOrEqual(20_000);
    await harness.store.groups.cancel('t/g');
    expect((await views.queues()).oldestWaitingMs).toBeLessThan(SLACK_MS);
  });

  it('queues: a tenant shows the group whose turn it is, and who waits for a rate is in no line', async () => {
    const harness = await open();
    const { gate, views } = harness.store;
    const instance = new Instance(harness, 'one', 7);
    await fill(harness, group('t/slow', { rps: SLOW_RPS, burst: 1 }), 3);
    await instance.exactly(1);
    await gate.fetch(10);
    expect((await views.queues()).parkedGroups).toBe(1);
    await harness.advance(10_000);
    expect((await views.queues()).oldestWaitingMs).toBe(0);
    await fill(harness, group('t/first'), 1);
    await harness.advance(10_000);
    await fill(harness, group('t/second'), 1);
    const { oldestWaitingMs } = await views.queues();
    expect(oldestWaitingMs).toBeGreaterThanOrEqual(10_000);
    expect(oldestWaitingMs).toBeLessThan(10_000 + SLACK_MS);
  });
}

async function facts({ store }: StoreHarness, key: string, jobId: string) {
  const found = await store.views.explain(key, jobId);
  if (!found) throw new Error(`expected facts of ${jobId} in ${key}, got none`);
  return found;
}

/** `explain`. */
export function explaining(open: OpenStore): void {
  it('who comes first: jobs, groups and tenants ahead', async () => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('a/g'), 5);
    await fill(harness, group('b/g'), 5);
    await fill(harness, group('b/h'), 5);
    expect(await facts(harness, 'a/g', 'j0')).toMatchObject({
      jobsAhead: 0,
      groupsAhead: 0,
      tenantsAhead: 0,
      group: { status: 'CREATED', paused: false, held: 0 },
    });
    expect(await facts(harness, 'a/g', 'j3')).toMatchObject({
      jobsAhead: 3,
      groupsAhead: 0,
      tenantsAhead: 0,
    });
    expect(await facts(harness, 'b/h', 'j1')).toMatchObject({
      jobsAhead: 1,
      groupsAhead: 1,
      tenantsAhead: 1,
    });
    await instance.fetch(2);
    const [first] = (await harness.store.views.jobs('a/g', {}, 100)).items.filter(
      ({ place }) => place === 'READY',
    );
    expect(first?.id).toBe('j0');
    expect(await facts(harness, 'a/g', 'j0')).toMatchObject({ readyAhead: 0, job: { place: 'READY' } });
    expect(await facts(harness, 'a/g', 'j1')).toMatchObject({ readyAhead: 2, jobsAhead: 0 });
    expect(await harness.store.views.explain('a/g', 'none')).toBeUndefined();
  });

  it('caps, rates and pause', async () => {
    const harness = await open({ backpressure: { globalRps: 5 } });
    const { groups } = harness.store;
    await groups.updateTenant('t', { rps: 2, concurrency: 9 });
    await fill(harness, group('t/g', { rps: SLOW_RPS, burst: 4, concurrency: 3 }), jobs(4, { cost: 2 }));
    const instance = new Instance(harness);
    await instance.exactly(1);
    await groups.pause('t/g');
    const found = await facts(harness, 't/g', 'j2');
    expect(found).toMatchObject({
      job: { id: 'j2', groupId: 't/g', place: 'LANE' },
      group: { paused: true, held: 1, concurrency: 3, readyCost: 0, bucket: { rps: SLOW_RPS, burst: 4 } },
      tenant: { held: 1, concurrency: 9, bucket: { rps: 2, burst: 1 } },
      global: { bucket: { rps: 5, burst: 1 } },
    });
    expect(Math.abs(found.nowUs / 1000 - (await harness.now()))).toBeLessThan(2000);
    const debtUs = (found.group.bucket?.tatUs ?? 0) - found.nowUs;
    expect(debtUs).toBeGreaterThan(1.9 * emissionUs(SLOW_RPS));
    expect(debtUs).toBeLessThanOrEqual(2 * emissionUs(SLOW_RPS));
  });
}

/** `explain` of workers and places. */
export function explainingWorkers(open: OpenStore): void {
  it('workers: who could run it, and how many wait', async () => {
    const harness = await open();
    await fill(harness, group('/g'), [job('known'), job('unknown', { processorType: 'rare' })]);
    expect(await facts(harness, '/g', 'known')).toMatchObject({ processorKnown: false, waitingSlots: 0 });
    await new Instance(harness, 'one', 6).beat({ waiting: 2 });
    expect(await facts(harness, '/g', 'known')).toMatchObject({
      processorKnown: true,
      waitingSlots: 2,
      readyBound: 50,
      startsPerSecond: 0,
    });
    expect(await facts(harness, '/g', 'unknown')).toMatchObject({ processorKnown: false });
  });

  it('a job that waits, runs or is done', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 3);
    const [a, b] = await new Instance(harness).exactly(3);
    await settle(harness, retry(a));
    await settle(harness, success(b));
    expect((await facts(harness, '/g', 'j0')).job).toMatchObject({
      place: 'NON_READY',
      reason: 'TRANSIENT_ERROR',
    });
    expect((await facts(harness, '/g', 'j1')).job.status).toBe('COMPLETED');
    const running = await facts(harness, '/g', 'j2');
    expect(running).toMatchObject({ job: { place: 'IN_FLIGHT' }, group: { held: 1 } });
    expect(running.startsPerSecond).toBeGreaterThan(0);
    expect(running.groupSettledPerSecond).toBeGreaterThan(0);
  });
}
