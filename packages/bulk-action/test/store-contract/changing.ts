import { expect, it } from 'vitest';
import {
  countsOf,
  fill,
  group,
  Instance,
  jobOf,
  numbers,
  type OpenStore,
  placeOf,
  retry,
  SLOW_RPS,
  settle,
  succeed,
  success,
  sweepAll,
  viewOf,
} from './tools.js';

/** `cancel`. */
export function cancelling(open: OpenStore): void {
  it('freezes the counts at once, wherever the jobs are', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 6);
    const [a, b, c] = await instance.exactly(3);
    await settle(harness, success(a));
    await settle(harness, retry(b));
    await instance.fetch(1);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, inFlight: 1, nonReady: 1, ready: 1 });
    expect(await harness.store.groups.cancel('/g')).toEqual({
      kind: 'done',
      status: 'CANCELLED',
      changed: true,
    });
    const frozen = { registered: 6, success: 1, failed: 0, cancelled: 5, pending: 0, inFlight: 0 };
    expect(await countsOf(harness, '/g')).toMatchObject(frozen);
    for (const id of ['j1', 'j2', 'j3', 'j4', 'j5'])
      expect((await jobOf(harness, '/g', id)).status).toBe('CANCELLED');
    expect((await jobOf(harness, '/g', 'j0')).status).toBe('COMPLETED');

    expect(await harness.store.leases.renew([c])).toEqual(['cancelled']);
    expect(await harness.store.leases.settle([success(c)])).toEqual([{ status: 'cancelled' }]);
    expect(await countsOf(harness, '/g')).toMatchObject(frozen);
    expect(await harness.store.views.result('/g')).toMatchObject({
      status: 'CANCELLED',
      code: 'CANCELLED',
      total: 6,
      success: 1,
      failed: 0,
      cancelled: 5,
    });
  });

  it('no job starts afterwards, and the entries vanish in bounded steps', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    const { groups, upkeep, views } = harness.store;
    await fill(harness, group('/g'), 60);
    await fill(harness, group('/other'), 5);
    await instance.fetch(20);
    await groups.cancel('/g');
    const started = [...(await instance.reserve()), ...(await instance.take())];
    expect(started.map(({ key }) => key)).toEqual(Array(5).fill('/other'));
    for (let steps = 0; ; steps++) {
      expect(steps).toBeLessThan(20);
      const { swept, more } = await upkeep.sweep(10);
      expect(swept).toBeLessThanOrEqual(10);
      if (!more) break;
    }
    expect(await views.queues()).toMatchObject({ lane: 0, ready: 0, nonReady: 0, inFlight: 5 });
    expect((await jobOf(harness, '/g', 'j59')).status).toBe('CANCELLED');
    expect(await countsOf(harness, '/g')).toMatchObject({ cancelled: 60 });
  });

  it('a step is one of groups without jobs, too', async () => {
    const harness = await open({}, 'one shard');
    const { store } = harness;
    for (const n of numbers(12)) await fill(harness, group(`/g${n}`), []);
    for (const n of numbers(12)) await store.groups.cancel(`/g${n}`);
    expect(await store.upkeep.sweep(5)).toMatchObject({ swept: 5, more: true });
    expect(await store.upkeep.sweep(5)).toMatchObject({ swept: 5, more: true });
    expect(await store.upkeep.sweep(5)).toMatchObject({ swept: 2, more: false });
  });
}

/** What a cancel does to tries that run. */
export function cancellingWork(open: OpenStore): void {
  it('the slot of a running try is free when it reports or its lease ends', async () => {
    const harness = await open();
    const { groups, leases, views, upkeep } = harness.store;
    const instance = new Instance(harness);
    await groups.updateTenant('t', { concurrency: 2 });
    await fill(harness, group('t/g'), 2);
    const [a] = await instance.exactly(2);
    await groups.cancel('t/g');
    await fill(harness, group('t/h'), 2);
    expect(await instance.take()).toEqual([]);
    expect(await leases.settle([success(a)])).toEqual([{ status: 'cancelled' }]);
    expect(await instance.take()).toHaveLength(1);
    await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
    await leases.recover([0.5, 0.5, 0.5]);
    await upkeep.sweep(100);
    expect((await views.queues()).inFlight).toBe(0);
    expect(await countsOf(harness, 't/g')).toMatchObject({ cancelled: 2, pending: 0 });
    expect(await instance.take()).toHaveLength(1);
  });

  it('giving back after the end only frees the lease', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 2);
    const [a, b] = await instance.exactly(2);
    await harness.store.groups.cancel('/g');
    expect(await harness.store.leases.giveBack([a])).toEqual(['cancelled']);
    expect(await harness.store.leases.giveBackAll('one', 10)).toMatchObject({ more: false });
    const [late] = await harness.store.leases.settle([success(b)]);
    expect(['cancelled', 'stale']).toContain(late?.status);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 0, cancelled: 2 });
    expect((await harness.store.views.queues()).inFlight).toBe(0);
    expect(await instance.take()).toEqual([]);
  });

  it('answers for unknown and ended groups; the repeat changes nothing', async () => {
    const harness = await open();
    const { groups } = harness.store;
    expect(await groups.cancel('/none')).toEqual({ kind: 'not-found' });
    await groups.create(group('/done'));
    await groups.seal('/done');
    expect(await groups.cancel('/done')).toEqual({ kind: 'ended', status: 'COMPLETED' });
    await fill(harness, group('/g'), 1);
    await groups.cancel('/g');
    const before = await viewOf(harness, '/g');
    const again = await groups.cancel('/g');
    expect(again).toMatchObject({ status: 'CANCELLED' });
    expect(again).not.toMatchObject({ changed: true });
    expect(await viewOf(harness, '/g')).toEqual(before);
    await sweepAll(harness);
    expect(await viewOf(harness, '/g')).toEqual(before);
  });
}

/** `pause` and `resume`. */
export function pausing(open: OpenStore): void {
  it('after the answer no job starts, whether it was in the lane or ready', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 5);
    await instance.fetch(3);
    expect(await groups.pause('/g')).toMatchObject({ kind: 'done', changed: true });
    expect((await viewOf(harness, '/g')).paused).toBe(true);
    expect(await instance.reserve()).toEqual([]);
    expect(await placeOf(harness, '/g', 'j0')).toBe('LANE');
    expect(await instance.take()).toEqual([]);
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 5, ready: 0 });
    expect(await groups.resume('/g')).toMatchObject({ kind: 'done', changed: true });
    expect((await viewOf(harness, '/g')).paused).toBe(false);
    expect(await instance.take()).toHaveLength(5);
  });

  it('what was ready keeps its order', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 5);
    await instance.fetch(3);
    await harness.store.groups.pause('/g');
    await instance.reserve();
    await harness.store.groups.resume('/g');
    const order = (await instance.take()).map(({ jobId }) => jobId);
    expect(order).toEqual(['j0', 'j1', 'j2', 'j3', 'j4']);
  });

  it('what runs may finish, and others are not held up', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 2);
    const [running] = await instance.exactly(1);
    await harness.store.groups.pause('/g');
    await fill(harness, group('/other'), 3);
    expect(await instance.take()).toHaveLength(3);
    expect(await harness.store.leases.renew([running])).toEqual(['ok']);
    await succeed(harness, [running]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, pending: 1 });
  });

  it('takes jobs and can be sealed and cancelled meanwhile', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await groups.create(group('/g'));
    await groups.pause('/g');
    await fill(harness, group('/g'), 2);
    expect(await new Instance(harness).take()).toEqual([]);
    expect(await groups.seal('/g', 2)).toMatchObject({ kind: 'done', status: 'DISPATCHED' });
    expect(await groups.cancel('/g')).toMatchObject({ kind: 'done', status: 'CANCELLED' });
  });

  it.each(['pause', 'resume'] as const)('%s: repeated, ended and unknown', async (verb) => {
    const harness = await open();
    const { groups } = harness.store;
    expect(await groups[verb]('/none')).toEqual({ kind: 'not-found' });
    await groups.create(group('/g'));
    if (verb === 'resume') await groups.pause('/g');
    expect(await groups[verb]('/g')).toEqual({ kind: 'done', status: 'CREATED', changed: true });
    expect(await groups[verb]('/g')).toEqual({ kind: 'done', status: 'CREATED', changed: false });
    await groups.cancel('/g');
    expect(await groups[verb]('/g')).toEqual({ kind: 'ended', status: 'CANCELLED' });
  });
}

/** `update` and `updateTenant`. */
export function updating(open: OpenStore): void {
  it('changes what is given, takes limits away with null, leaves the rest', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const deadline = (await harness.now()) + 1_000_000;
    await groups.create(group('/g', { rps: 5, burst: 2, concurrency: 3 }));
    const patch = { weight: 2, priorityLevel: 'high', timeoutMs: 77, deadline } as const;
    expect(await groups.update('/g', patch)).toMatchObject({ kind: 'done', changed: true });
    const limits = { rps: 5, burst: 2, concurrency: 3 };
    expect(await viewOf(harness, '/g')).toMatchObject({ ...patch, ...limits });
    expect(await groups.update('/g', { deadline: new Date(deadline + 1) })).toMatchObject({ kind: 'done' });
    expect((await viewOf(harness, '/g')).deadline).toBe(deadline + 1);
    await groups.update('/g', { rps: null, burst: null, concurrency: null, deadline: null });
    const view = await viewOf(harness, '/g');
    for (const gone of ['rps', 'burst', 'concurrency', 'deadline']) expect(view).not.toHaveProperty(gone);
    expect(view).toMatchObject({ weight: 2, priorityLevel: 'high', timeoutMs: 77 });
  });

  it('answers for unknown and ended groups', async () => {
    const harness = await open();
    const { groups } = harness.store;
    expect(await groups.update('/none', { weight: 2 })).toEqual({ kind: 'not-found' });
    await groups.create(group('/g'));
    await groups.cancel('/g');
    expect(await groups.update('/g', { weight: 2 })).toEqual({ kind: 'ended', status: 'CANCELLED' });
    expect((await viewOf(harness, '/g')).weight).toBe(1);
  });

  it('a cap or a rate that is raised or taken away lets queued work go on at once', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/capped', { concurrency: 1 }), 4);
    expect(await instance.take()).toHaveLength(1);
    await groups.update('/capped', { concurrency: 3 });
    expect(await instance.take()).toHaveLength(2);
    await groups.update('/capped', { concurrency: null });
    expect(await instance.take()).toHaveLength(1);

    await fill(harness, group('/slow', { rps: SLOW_RPS, burst: 1 }), 4);
    expect(await instance.take()).toHaveLength(1);
    await groups.update('/slow', { rps: null, burst: null });
    expect(await instance.take()).toHaveLength(3);
  });

  it('updateTenant makes the tenant, changes what is given and acts at once', async () => {
    const harness = await open();
    const { groups, views } = harness.store;
    expect(await views.tenant('t')).toBeUndefined();
    await groups.updateTenant('t', { weight: 3, rps: 5, burst: 2, concurrency: 1 });
    const limits = { weight: 3, rps: 5, burst: 2, concurrency: 1 };
    expect(await views.tenant('t')).toMatchObject({ id: 't', ...limits, groups: 0, pending: 0, inFlight: 0 });
    await groups.updateTenant('t', { rps: null, burst: null });
    expect(await views.tenant('t')).toMatchObject({ weight: 3, concurrency: 1 });
    expect(await views.tenant('t')).not.toHaveProperty('rps');

    const instance = new Instance(harness);
    await fill(harness, group('t/g'), 4);
    expect(await instance.take()).toHaveLength(1);
    await groups.updateTenant('t', { concurrency: 2 });
    await groups.updateTenant('t', { concurrency: 2 });
    expect(await instance.take()).toHaveLength(1);
    await groups.updateTenant('t', { concurrency: null });
    expect(await instance.take()).toHaveLength(2);
    expect(await views.tenant('t')).toMatchObject({ weight: 3, groups: 1, inFlight: 4 });
  });
}
