import { expect, it } from 'vitest';
import { readyBound } from '../../src/rules/ready-bound.js';
import {
  countsOf,
  expectAt,
  expectInMs,
  fill,
  group,
  Instance,
  job,
  jobOf,
  jobs,
  type OpenStore,
  placeOf,
  retry,
  SLOW_RPS,
  SLOW_SLOT_MS,
  settle,
  succeed,
  viewOf,
} from './tools.js';

/** How much may be ready. */
export function bounding(open: OpenStore): void {
  it('nothing to fetch: nothing moves, and only a wake-up can help', async () => {
    const { store } = await open();
    const answer = await store.gate.fetch(10);
    expect(answer).toMatchObject({ ready: 0, nonReady: 0, rejected: 0, room: true });
    expect(answer.nextInMs).toBeUndefined();
  });

  it('moves at most what is asked', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 10);
    expect(await harness.store.gate.fetch(3)).toMatchObject({ ready: 3, room: true });
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 10, ready: 3 });
    expect(await harness.store.views.queues()).toMatchObject({ lane: 7, ready: 3, groups: 1 });
  });

  it('while no drain is known: max(fetchBatchSize, 2 × slots)', async () => {
    const harness = await open({ workerPool: { fetchBatchSize: 7 } }, 'one shard');
    await fill(harness, group('/g'), 50);
    expect(await harness.store.gate.fetch(50)).toMatchObject({ ready: 7, room: false });
    expect(await harness.store.views.queues()).toMatchObject({ ready: 7, readyBound: 7 });
    await new Instance(harness, 'one', 10).beat();
    expect(await harness.store.gate.fetch(50)).toMatchObject({ ready: 13, room: false });
    expect((await harness.store.views.queues()).readyBound).toBe(20);
  });

  it('with a drain: the waiting slots and what the horizon drains', async () => {
    const harness = await open({ workerPool: { fetchBatchSize: 40 } }, 'one shard');
    const instance = new Instance(harness, 'one', 4);
    await fill(harness, group('/g'), 100);
    await succeed(harness, await instance.exactly(20));
    await instance.beat({ waiting: 3 });
    const queues = await harness.store.views.queues();
    expect(queues.startsPerSecond).toBeGreaterThan(0);
    const { readyHorizonMs, readyQueueMaxSize } = harness.config.backpressure;
    const { liveSlots, waitingSlots, startsPerSecond, inFlight } = queues;
    expect(queues).toMatchObject({ liveSlots: 4, waitingSlots: 3 });
    expect(queues.readyBound).toBe(
      readyBound({
        liveSlots,
        waitingSlots,
        startsPerSecond,
        inFlight,
        readyHorizonMs,
        readyQueueMaxSize,
        fetchBatchSize: 40,
      }),
    );
  });
}

/** A full ready. */
export function filled(open: OpenStore): void {
  it('readyQueueMaxSize is the ceiling: while ready is full nothing is taken', async () => {
    const harness = await open({ backpressure: { readyQueueMaxSize: 10 } }, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 20);
    expect(await instance.fetch(50)).toMatchObject({ ready: 10, room: false });
    expect(await instance.fetch(50)).toMatchObject({ ready: 0, room: false });
    expect(await countsOf(harness, '/g')).toMatchObject({ ready: 10, pending: 20 });
    expect(await instance.reserve(4)).toHaveLength(4);
    expect(await instance.fetch(50)).toMatchObject({ ready: 4, room: false });
  });

  it('a thousand jobs go through in batches of a thousand', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1000);
    await harness.store.groups.seal('/g', 1000);
    const leases = await instance.take(1000);
    expect(new Set(leases.map(({ jobId }) => jobId)).size).toBe(1000);
    expect(await harness.store.leases.renew(leases)).toEqual(leases.map(() => 'ok'));
    await succeed(harness, leases);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { success: 1000 } });
  });
}

/** Caps of groups and tenants. */
export function capping(open: OpenStore): void {
  it('a slot is taken on entering ready and kept until the job is neither ready nor running', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g', { concurrency: 2 }), 6);
    expect((await instance.fetch()).ready).toBe(2);
    expect((await instance.fetch()).ready).toBe(0);
    const [a, b] = await instance.exactly(2);
    expect((await instance.fetch()).ready).toBe(0);
    await succeed(harness, [a]);
    expect((await instance.fetch()).ready).toBe(1);
    await settle(harness, retry(b, { delayMs: 60_000 }));
    expect((await instance.fetch()).ready).toBe(1);
    expect((await instance.fetch()).ready).toBe(0);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, nonReady: 1, ready: 2, pending: 5 });
  });

  it('a full group does not hold up another', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('t/full', { concurrency: 1 }), 5);
    await fill(harness, group('t/free'), 5);
    const order = (await instance.take()).map(({ key }) => key);
    expect(order.toSorted()).toEqual([...Array(5).fill('t/free'), 't/full']);
  });

  it('a cap of a tenant counts over all its groups', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await harness.store.groups.updateTenant('t', { concurrency: 3 });
    for (const key of ['t/a', 't/b', 'u/a']) await fill(harness, group(key), 4);
    const leases = await instance.take();
    expect(leases.filter(({ tenant }) => tenant === 't')).toHaveLength(3);
    expect(leases.filter(({ tenant }) => tenant === 'u')).toHaveLength(4);
    await succeed(harness, leases);
    expect(await instance.take()).toHaveLength(3);
  });
}

/** Caps lowered while jobs hold their slots. */
export function lowering(open: OpenStore): void {
  it('a lowered cap: no start until below it, and nothing is lost', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('t/g', { concurrency: 5 }), 5);
    const [running] = await instance.exactly(1);
    await instance.fetch();
    expect((await countsOf(harness, 't/g')).ready).toBe(4);
    await groups.update('t/g', { concurrency: 2 });
    const started = await instance.reserve();
    expect(started).toHaveLength(1);
    expect(await countsOf(harness, 't/g')).toMatchObject({ inFlight: 2, pending: 3, ready: 0 });
    await groups.updateTenant('t', { concurrency: 1 });
    await succeed(harness, started);
    expect(await instance.take()).toEqual([]);
    await succeed(harness, [running]);
    for (let n = 0; n < 3; n++) {
      const [next] = await instance.exactly(1);
      expect(await instance.take()).toEqual([]);
      await succeed(harness, [next]);
    }
    expect(await countsOf(harness, 't/g')).toMatchObject({ success: 5 });
  });

  it('a cap of a tenant lowered while its jobs are ready; they keep their order', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('t/g'), 4);
    await instance.fetch();
    await harness.store.groups.updateTenant('t', { concurrency: 1 });
    const started = await instance.reserve();
    expect(started).toHaveLength(1);
    expect(await countsOf(harness, 't/g')).toMatchObject({ inFlight: 1, pending: 3, ready: 0 });
    await harness.store.groups.updateTenant('t', { concurrency: null });
    const order = (await instance.take()).map(({ jobId }) => jobId);
    expect(order).toHaveLength(3);
    expect(order).toEqual(order.toSorted());
  });
}

/** Rates of the engine, tenants and groups. */
export function limiting(open: OpenStore): void {
  it.each([
    ['a group', (h, rps, burst) => h.store.groups.update('t/g', { rps, burst })],
    ['a tenant', (h, rps, burst) => h.store.groups.updateTenant('t', { rps, burst })],
  ] as [string, (h: Awaited<ReturnType<OpenStore>>, rps: number, burst: number) => Promise<unknown>][])(
    '%s: as many at once as the burst, then one per slot; the others are not held up',
    async (_, limit) => {
      const harness = await open();
      const instance = new Instance(harness);
      await harness.store.groups.create(group('t/g'));
      await limit(harness, SLOW_RPS, 3);
      await fill(harness, group('t/g'), 10);
      await fill(harness, group('u/g'), 5);
      const first = await instance.fetch();
      expect(first.ready).toBe(8);
      expectInMs(first.nextInMs, SLOW_SLOT_MS);
      expect(await instance.reserve()).toHaveLength(8);
      const parked = await instance.fetch();
      expect(parked.ready).toBe(0);
      expectInMs(parked.nextInMs, SLOW_SLOT_MS);
      await harness.advance(SLOW_SLOT_MS + 1);
      expect(await instance.take()).toHaveLength(1);
      await harness.advance(2 * SLOW_SLOT_MS + 1);
      expect(await instance.take()).toHaveLength(2);
      // Parked, not popped and punished.
      expect(await viewOf(harness, 't/g')).toMatchObject({ rateDenied: 0, counts: { nonReady: 0 } });
    },
  );

  it('the engine: globalRps and burst', async () => {
    const harness = await open({ backpressure: { globalRps: SLOW_RPS, burst: 2 } }, 'one shard');
    const instance = new Instance(harness);
    for (const key of ['/a', '/b', '/c']) await fill(harness, group(key), 2);
    const answer = await instance.fetch();
    expect(answer.ready).toBe(2);
    expectInMs(answer.nextInMs, SLOW_SLOT_MS);
    expect(await instance.reserve()).toHaveLength(2);
    expect(await instance.take()).toEqual([]);
    await harness.advance(SLOW_SLOT_MS + 1);
    expect(await instance.take()).toHaveLength(1);
  });
}

/** Rates over retries, costs and time. */
export function limitingAlways(open: OpenStore): void {
  it('retries spend tokens like any start', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g', { rps: SLOW_RPS, burst: 1 }), 1);
    const [lease] = await instance.exactly(1);
    await settle(harness, retry(lease, { delayMs: 1000 }));
    await harness.advance(5000);
    await harness.store.gate.dispatch(10);
    expect(await instance.take()).toEqual([]);
    await harness.advance(SLOW_SLOT_MS);
    await harness.store.gate.dispatch(10);
    expect(await instance.take()).toHaveLength(1);
  });

  it('a cost above the burst starts from a full bucket and leaves its debt', async () => {
    const harness = await open();
    await fill(harness, group('/g', { rps: SLOW_RPS, burst: 2 }), jobs(2, { cost: 5 }));
    const instance = new Instance(harness);
    expect(await instance.take()).toHaveLength(1);
    expectInMs((await instance.fetch()).nextInMs, 5 * SLOW_SLOT_MS);
    await harness.advance(4 * SLOW_SLOT_MS);
    expect(await instance.take()).toEqual([]);
    await harness.advance(SLOW_SLOT_MS + 1);
    expect(await instance.take()).toHaveLength(1);
  });

  it('in every second at most limit + burst start, and no slot is missed', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g', { rps: 10, burst: 2 }), 40);
    const starts: number[] = [];
    for (let looks = 0; starts.length < 40; looks++) {
      expect(looks).toBeLessThan(100);
      const { ready, nextInMs } = await instance.fetch();
      expect(ready).toBeGreaterThan(0);
      for (const { key, jobId } of await instance.reserve())
        starts.push((await jobOf(harness, key, jobId)).startedAt ?? 0);
      await harness.advance(nextInMs ?? 0);
    }
    for (const start of starts)
      expect(starts.filter((other) => other >= start && other < start + 1000).length).toBeLessThanOrEqual(12);
  });
}

/** What reserve finds of the tokens, and `checkRate`. */
export function spending(open: OpenStore): void {
  it('a limit lowered in between: the job goes to non-ready until its slot', async () => {
    const harness = await open();
    const { groups, leases, gate, views } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    await instance.fetch();
    await groups.update('/g', { rps: SLOW_RPS, burst: 1 });
    const before = await harness.now();
    const answer = await leases.reserve({ instanceId: 'two', seq: 1, max: 10 });
    expect(answer).toMatchObject({ missing: [], rateDenied: 2 });
    expect(answer.jobs.map(({ jobId }) => jobId)).toEqual(['j0']);
    const denied = await jobOf(harness, '/g', 'j1');
    expect(denied).toMatchObject({ status: 'PENDING', place: 'NON_READY', reason: 'RATE_LIMITED' });
    expectAt(denied.dueAt, before + SLOW_SLOT_MS);
    expect(denied).toMatchObject({ retryCount: 0, attempts: 0 });
    expect((await viewOf(harness, '/g')).rateDenied).toBe(2);
    expect((await views.queues()).nonReadyByReason.RATE_LIMITED).toBe(2);
    await harness.advance(SLOW_SLOT_MS + 1);
    await instance.beat();
    await gate.dispatch(10);
    expect((await instance.take()).map(({ jobId }) => jobId)).toEqual(['j1']);
  });

  it('checkRate says when, and spends nothing', async () => {
    const harness = await open();
    const { gate } = harness.store;
    expect(await gate.checkRate('/none', 1)).toBeUndefined();
    await fill(harness, group('/g', { rps: SLOW_RPS, burst: 2 }), 2);
    for (let n = 0; n < 5; n++) expect(await gate.checkRate('/g', 2)).toEqual({ allowed: true, nextInMs: 0 });
    await new Instance(harness).exactly(2);
    const spent = await gate.checkRate('/g', 1);
    expect(spent?.allowed).toBe(false);
    expectInMs(spent?.nextInMs, SLOW_SLOT_MS);
    expectInMs((await gate.checkRate('/g', 2))?.nextInMs, 2 * SLOW_SLOT_MS);
    await harness.advance(SLOW_SLOT_MS + 1);
    expect(await gate.checkRate('/g', 1)).toEqual({ allowed: true, nextInMs: 0 });
    await fill(harness, group('/free'), 1);
    expect(await gate.checkRate('/free', 1000)).toEqual({ allowed: true, nextInMs: 0 });
  });

  it('a new rate keeps the debt', async () => {
    const harness = await open();
    const { gate, groups } = harness.store;
    await fill(harness, group('/g', { rps: SLOW_RPS, burst: 1 }), 2);
    await new Instance(harness).exactly(1);
    await groups.update('/g', { rps: SLOW_RPS / 2 });
    expectInMs((await gate.checkRate('/g', 1))?.nextInMs, 2 * SLOW_SLOT_MS);
    await groups.update('/g', { rps: SLOW_RPS });
    expectInMs((await gate.checkRate('/g', 1))?.nextInMs, SLOW_SLOT_MS);
  });
}

/** Jobs that come too late. */
export function expiring(open: OpenStore): void {
  it.each(['in the lane', 'in ready'])(
    '%s: past its deadline a job fails and does not start',
    async (where) => {
      const harness = await open();
      const instance = new Instance(harness);
      const deadline = (await harness.now()) + 10_000;
      await fill(harness, group('/g'), [job('late', { deadline }), job('fine')]);
      await harness.store.groups.seal('/g');
      if (where === 'in ready') await instance.fetch();
      await harness.advance(10_001);
      if (where === 'in the lane') expect(await instance.fetch()).toMatchObject({ ready: 1, rejected: 1 });
      const leases = await instance.reserve();
      expect(leases.map(({ jobId }) => jobId)).toEqual(['fine']);
      const late = await jobOf(harness, '/g', 'late');
      expect(late).toMatchObject({ status: 'FAILED', place: 'DONE', attempts: 0 });
      expect(await placeOf(harness, '/g', 'fine')).toBe('IN_FLIGHT');
      await succeed(harness, leases);
      expect(await harness.store.views.result('/g')).toMatchObject({
        status: 'COMPLETED',
        success: 1,
        failed: 1,
        failedByCode: { DEADLINE_EXCEEDED: 1 },
        failedJobs: [{ jobId: 'late', code: 'DEADLINE_EXCEEDED' }],
      });
      expect((await harness.store.deadLetters.list({}, 10)).items).toEqual([]);
    },
  );

  it('the last job of a sealed group ends it, also by its deadline', async () => {
    const harness = await open();
    const deadline = (await harness.now()) + 10_000;
    await fill(harness, group('/g'), [job('late', { deadline })]);
    await harness.store.groups.seal('/g');
    await harness.advance(10_001);
    await harness.store.gate.fetch(10);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { failed: 1 } });
  });
}
