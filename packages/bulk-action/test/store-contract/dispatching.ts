import { expect, it } from 'vitest';
import {
  countsOf,
  expectInMs,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobOf,
  jobs,
  type OpenStore,
  placeOf,
  retry,
  type StoreHarness,
  settle,
  succeed,
  success,
  viewOf,
} from './tools.js';

/** Registers `count` jobs, starts and fails them once: they wait in non-ready for `delayMs`. */
async function waiting(harness: StoreHarness, key: string, count: number, delayMs = 5000): Promise<void> {
  await fill(harness, group(key), count);
  for (const lease of await new Instance(harness, `fails ${key}`).take(count))
    await settle(harness, retry(lease, { delayMs }));
}

/** `dispatch`. */
export function dispatching(open: OpenStore): void {
  it('nothing waits: nothing moves, and there is no next time', async () => {
    const { store } = await open();
    const answer = await store.gate.dispatch(10);
    expect(answer).toMatchObject({ moved: 0, ready: 0, skipped: false });
    expect(answer.nextInMs).toBeUndefined();
  });

  it('moves what is due, in the order of the due times, and says when the next is', async () => {
    const harness = await open();
    const { gate } = harness.store;
    const now = await harness.now();
    const at = (id: string, ms: number) => job(id, { notBefore: now + ms });
    await fill(harness, group('/g'), [at('third', 30_000), at('first', 10_000), at('second', 20_000)]);
    const early = await gate.dispatch(10);
    expect(early).toMatchObject({ moved: 0, ready: 0, skipped: false });
    expectInMs(early.nextInMs, 10_000);
    await harness.advance(20_001);
    const answer = await gate.dispatch(10);
    expect(answer).toMatchObject({ moved: 2, ready: 2, skipped: false });
    expectInMs(answer.nextInMs, 10_000);
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 3, ready: 2, nonReady: 1 });
    const leases = await new Instance(harness).reserve();
    expect(leases.map(({ jobId }) => jobId)).toEqual(['first', 'second']);
  });

  it('moves at most what is asked', async () => {
    const harness = await open();
    await waiting(harness, '/g', 5);
    await new Instance(harness).beat();
    await harness.advance(5001);
    expect(await harness.store.gate.dispatch(2)).toMatchObject({ moved: 2, nextInMs: 0 });
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 3 });
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 0 });
  });

  it('while ready is full nothing moves', async () => {
    const harness = await open({ backpressure: { readyQueueMaxSize: 2 } }, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 2);
    await settle(harness, retry((await instance.exactly(1))[0]));
    await fill(harness, group('/h'), 5);
    await instance.fetch();
    await harness.advance(5001);
    await instance.beat();
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 0, ready: 0, skipped: true });
    expect(await placeOf(harness, '/g', 'j0')).toBe('NON_READY');
    await succeed(harness, await instance.reserve());
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1, skipped: false });
  });

  it('a job past its deadline fails', async () => {
    const harness = await open();
    const now = await harness.now();
    await fill(harness, group('/g'), [job('late', { notBefore: now + 1000, deadline: now + 2000 })]);
    await harness.store.groups.seal('/g');
    await harness.advance(2001);
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1, ready: 0 });
    expect(await jobOf(harness, '/g', 'late')).toMatchObject({ status: 'FAILED', place: 'DONE' });
    expect(await harness.store.views.result('/g')).toMatchObject({
      status: 'COMPLETED',
      failedByCode: { DEADLINE_EXCEEDED: 1 },
    });
  });
}

/** Due jobs that the gate refuses. */
export function returning(open: OpenStore): void {
  it('a job of a paused group goes to the head of its lane', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    await settle(harness, retry((await instance.exactly(1))[0]));
    await harness.store.groups.pause('/g');
    await harness.advance(5001);
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1, ready: 0 });
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({
      place: 'LANE',
      status: 'PENDING',
      retryCount: 1,
    });
    expect(await jobOf(harness, '/g', 'j0')).not.toHaveProperty('reason');
    await harness.store.groups.resume('/g');
    expect((await instance.take()).map(({ jobId }) => jobId)).toEqual(['j0', 'j1', 'j2']);
  });

  it('a job of a full group or tenant goes to the head of its lane', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await harness.store.groups.updateTenant('t', { concurrency: 1 });
    for (const key of ['/g', 't/g']) {
      await fill(harness, group(key, key === '/g' ? { concurrency: 1 } : {}), 3);
      const [lease] = await instance.exactly(1);
      await settle(harness, retry(lease));
      const [running] = await instance.exactly(1);
      await harness.advance(5001);
      expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1, ready: 0 });
      expect(await placeOf(harness, key, 'j0')).toBe('LANE');
      await succeed(harness, [running]);
      expect((await instance.finish()).map(({ jobId }) => jobId)).toEqual(['j0', 'j2']);
    }
  });

  it('a job whose turn it is not waits for it at the head of its lane', async () => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await fill(harness, group('a/g'), 4);
    const [first] = await instance.exactly(2);
    await settle(harness, retry(first));
    await fill(harness, group('b/g'), 3);
    await harness.advance(5001);
    await instance.beat();
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ moved: 1, ready: 0 });
    const order = (await instance.take(4)).map(({ tenant, jobId }) => `${tenant} ${jobId}`);
    expect(order[0]).toBe('b j0');
    expect(order.filter((name) => name.startsWith('a'))[0]).toBe('a j0');
  });
}

/** Due jobs in their turn, and those nobody wants any more. */
export function returningInTurn(open: OpenStore): void {
  it('a retry that comes in its turn is charged like any other job', async () => {
    const harness = await open({}, 'one shard');
    const instance = new Instance(harness);
    await waiting(harness, 'a/g', 30, 1000);
    await harness.advance(1001);
    await fill(harness, group('b/g'), jobs(30));
    await instance.beat();
    expect(await harness.store.gate.dispatch(100)).toMatchObject({ moved: 30 });
    const order = (await instance.take(40)).map(({ tenant }) => tenant);
    const part = order.filter((tenant) => tenant === 'a').length;
    expect(part).toBeGreaterThanOrEqual(19);
    expect(part).toBeLessThanOrEqual(21);
  });

  it('a job of a cancelled group is left to the sweep', async () => {
    const harness = await open();
    await waiting(harness, '/g', 3);
    await harness.store.groups.cancel('/g');
    await harness.advance(5001);
    expect(await harness.store.gate.dispatch(10)).toMatchObject({ ready: 0 });
    expect(await new Instance(harness).take()).toEqual([]);
    expect(await countsOf(harness, '/g')).toMatchObject({ cancelled: 3 });
  });
}

/** `admit`. */
export function admitting(open: OpenStore): void {
  it('lets the next job of the next group in', async () => {
    const harness = await open();
    const { gate } = harness.store;
    await fill(harness, group('/g'), 2);
    expect(await gate.admit('/g', 'j0')).toEqual({ accepted: true, destination: 'READY', reason: 'NONE' });
    expect(await placeOf(harness, '/g', 'j0')).toBe('READY');
    expect(await gate.admit('/g', 'none')).toBeUndefined();
    expect(await gate.admit('/none', 'j0')).toBeUndefined();
    const instance = new Instance(harness);
    expect((await instance.reserve()).map(({ jobId }) => jobId)).toEqual(['j0']);
  });

  it('a job that does not wait is not moved', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 2);
    const [a, b] = await instance.exactly(2);
    await settle(harness, success(a));
    for (const lease of [a, b]) {
      const before = await jobOf(harness, '/g', lease.jobId);
      expect(await harness.store.gate.admit('/g', lease.jobId)).toMatchObject({
        accepted: false,
        reason: 'NOT_WAITING',
      });
      expect(await jobOf(harness, '/g', lease.jobId)).toEqual(before);
    }
  });

  it('refused: paused, full group, full tenant, full ready, not its turn', async () => {
    const harness = await open({ backpressure: { readyQueueMaxSize: 3 } }, 'one shard');
    const { gate, groups } = harness.store;
    const instance = new Instance(harness);
    const refused = async (key: string, jobId: string, reason: string) => {
      expect(await gate.admit(key, jobId)).toEqual({ accepted: false, destination: 'REJECTED', reason });
      expect(await jobOf(harness, key, jobId)).toMatchObject({ place: 'LANE', status: 'PENDING' });
    };
    await fill(harness, group('/paused'), 1);
    await groups.pause('/paused');
    await refused('/paused', 'j0', 'PAUSED');

    await fill(harness, group('/capped', { concurrency: 1 }), 2);
    await instance.exactly(1);
    await refused('/capped', 'j1', 'GROUP_CAP');

    await groups.updateTenant('t', { concurrency: 1 });
    await fill(harness, group('t/one'), 1);
    await instance.exactly(1);
    await fill(harness, group('t/two'), 1);
    await refused('t/two', 'j0', 'TENANT_CAP');

    await fill(harness, group('a/g'), 5);
    await instance.exactly(2);
    await fill(harness, group('b/g'), 5);
    await instance.beat();
    await refused('a/g', 'j2', 'TURN');
    await instance.fetch(3);
    const { items } = await harness.store.views.jobs('b/g', {}, 10);
    const next = items.filter(({ place }) => place === 'LANE').map(({ id }) => id);
    await refused('b/g', next.toSorted()[0] ?? '', 'READY_FULL');
  });
}

/** `admit` of jobs that are ready, too early, too late or without a token. */
export function admittingLater(open: OpenStore): void {
  it('a job that is ready already stays so, once', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await harness.store.gate.admit('/g', 'j0');
    await harness.store.gate.admit('/g', 'j0');
    expect(await countsOf(harness, '/g')).toMatchObject({ ready: 1, pending: 1 });
    expect(await new Instance(harness).take()).toHaveLength(1);
  });

  it('a job of the future stays outside until its time', async () => {
    const harness = await open();
    const notBefore = (await harness.now()) + HOUR_MS;
    await fill(harness, group('/g'), [job('later', { notBefore })]);
    expect(await harness.store.gate.admit('/g', 'later')).toMatchObject({ accepted: false });
    expect(await new Instance(harness).take()).toEqual([]);
    expect(await jobOf(harness, '/g', 'later')).toMatchObject({ place: 'NON_READY', reason: 'SCHEDULED' });
  });

  it('refused: no token', async () => {
    const harness = await open();
    await fill(harness, group('/g', { rps: 0.01, burst: 1 }), 2);
    await new Instance(harness).exactly(1);
    const answer = await harness.store.gate.admit('/g', 'j1');
    expect(answer).toMatchObject({ accepted: false, reason: 'RATE_LIMITED' });
    const { place } = await jobOf(harness, '/g', 'j1');
    expect(place).toBe(answer?.destination === 'NON_READY' ? 'NON_READY' : 'LANE');
    expect((await viewOf(harness, '/g')).counts).toMatchObject({ pending: 1, inFlight: 1 });
  });

  it('refused for good: past its deadline, cancelled', async () => {
    const harness = await open();
    const { gate, groups } = harness.store;
    const deadline = (await harness.now()) + HOUR_MS / 60;
    await fill(harness, group('/g'), [job('late', { deadline })]);
    await fill(harness, group('/h'), 1);
    await harness.advance(HOUR_MS / 60 + 1);
    expect(await gate.admit('/g', 'late')).toMatchObject({ accepted: false, reason: 'DEADLINE_EXCEEDED' });
    expect(await jobOf(harness, '/g', 'late')).toMatchObject({ status: 'FAILED', place: 'DONE' });
    await groups.cancel('/h');
    expect(await gate.admit('/h', 'j0')).toMatchObject({ accepted: false, reason: 'CANCELLED' });
    expect((await jobOf(harness, '/h', 'j0')).status).toBe('CANCELLED');
  });
}
