import { expect, it } from 'vitest';
import type { GroupDefinition } from '../../src/ports.js';
import {
  countsOf,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  jobOf,
  jobs,
  type OpenStore,
  placeOf,
  succeed,
  viewOf,
} from './tools.js';

/** `create`. */
export function creating(open: OpenStore): void {
  it('makes a group once: the same definition again is known and changes nothing', async () => {
    const { store } = await open();
    const definition = group('/g', { weight: 2, rps: 5, burst: 2, concurrency: 3 });
    expect(await store.groups.create(definition)).toBe('created');
    const before = await store.views.group('/g');
    expect(before).toMatchObject({
      id: 'g',
      tenant: '',
      tenantId: 'g',
      weight: 2,
      priorityLevel: 'normal',
      rps: 5,
      burst: 2,
      concurrency: 3,
      timeoutMs: HOUR_MS,
      status: 'CREATED',
      sealed: false,
      paused: false,
      round: 1,
      counts: { registered: 0, success: 0, failed: 0, cancelled: 0, pending: 0, inFlight: 0 },
    });
    expect(await store.groups.create(definition)).toBe('known');
    expect(await store.views.group('/g')).toEqual(before);
  });

  it.each<Partial<GroupDefinition>>([
    { tenantId: 'other' },
    { weight: 3 },
    { priorityLevel: 'high' },
    { rps: 5 },
    { burst: 5 },
    { concurrency: 5 },
    { timeoutMs: 5 },
    { deadline: Date.UTC(2100, 0, 1) },
  ])('another definition is a conflict and changes nothing: %o', async (fields) => {
    const { store } = await open();
    await store.groups.create(group('/g'));
    const before = await store.views.group('/g');
    expect(await store.groups.create(group('/g', fields))).toBe('conflict');
    expect(await store.views.group('/g')).toEqual(before);
    await store.groups.create(group('/full', fields));
    expect(await store.groups.create(group('/full', fields))).toBe('known');
    expect(await store.groups.create(group('/full'))).toBe('conflict');
  });

  it('compares with the definition as first given, not as updated, also after the end', async () => {
    const { store } = await open();
    await store.groups.create(group('/g'));
    await store.groups.update('/g', { weight: 7 });
    expect(await store.groups.create(group('/g'))).toBe('known');
    expect(await store.groups.create(group('/g', { weight: 7 }))).toBe('conflict');
    await store.groups.seal('/g');
    expect(await store.groups.create(group('/g'))).toBe('known');
    expect(await store.views.group('/g')).toMatchObject({ status: 'COMPLETED', weight: 7 });
  });

  it('a group made by add has the definition that add was given', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    expect(await harness.store.groups.create(group('/g'))).toBe('known');
    expect(await harness.store.groups.create(group('/g', { weight: 2 }))).toBe('conflict');
    // An existing group keeps its own, whatever a later add would have made.
    await fill(harness, group('/g', { weight: 9 }), [job('later')]);
    expect((await viewOf(harness, '/g')).weight).toBe(1);
  });
}

/** `add`. */
export function adding(open: OpenStore): void {
  it('counts new and known jobs; a known id is left alone', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const first = await groups.add(group('/g'), [job('a'), job('b', { cost: 3 })], 2);
    expect(first).toEqual({ kind: 'added', added: 2, known: 0, registered: 2 });
    const again = [job('b', { payload: '"other"', cost: 9 }), job('c'), job('c')];
    expect(await groups.add(group('/g'), again, 3)).toEqual({
      kind: 'added',
      added: 1,
      known: 2,
      registered: 3,
    });
    expect(await jobOf(harness, '/g', 'b')).toMatchObject({ payload: { id: 'b' }, cost: 3 });
    expect(await countsOf(harness, '/g')).toMatchObject({ registered: 3, pending: 3, ready: 0 });
  });

  it('keeps all of a job', async () => {
    const harness = await open();
    const now = await harness.now();
    const payload = '{"text":"é 漢字 🦆 \\u0000","list":[1,null,0.5],"empty":{},"none":[]}';
    const fields = { payload, processorType: 'mail', cost: 4, deadline: now + HOUR_MS, traceparent: 'own' };
    await fill(harness, group('/g', { traceparent: 'the group' }), [job('a', fields), job('b')]);
    const a = await jobOf(harness, '/g', 'a');
    expect(a).toMatchObject({
      id: 'a',
      groupId: 'g',
      tenant: '',
      processorType: 'mail',
      payload: JSON.parse(payload),
      status: 'PENDING',
      place: 'LANE',
      retryCount: 0,
      orphanCount: 0,
      attempts: 0,
      cost: 4,
      deadline: now + HOUR_MS,
      failedTries: [],
      traceparent: 'own',
    });
    expect(a.createdAt).toBeGreaterThanOrEqual(now);
    expect((await jobOf(harness, '/g', 'b')).traceparent).toBe('the group');
  });

  it('an empty batch makes the group and adds nothing', async () => {
    const harness = await open();
    expect(await harness.store.groups.add(group('/g'), [], 0)).toMatchObject({ kind: 'added', added: 0 });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'CREATED', counts: { registered: 0 } });
  });
}

/** `add` in bulk, ahead of time and too late. */
export function addingMore(open: OpenStore): void {
  it('takes 1,000 jobs at once, and again without effect', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1000);
    expect(await harness.store.groups.add(group('/g'), jobs(1000), 1000)).toEqual({
      kind: 'added',
      added: 0,
      known: 1000,
      registered: 1000,
    });
    await fill(harness, group('/g'), jobs(1000, {}, 'k'));
    expect(await countsOf(harness, '/g')).toMatchObject({ registered: 2000, pending: 2000 });
  });

  it('a job of the future waits outside the lane, one of the past does not', async () => {
    const harness = await open();
    const now = await harness.now();
    const future = job('future', { notBefore: now + HOUR_MS });
    await fill(harness, group('/g'), [future, job('past', { notBefore: now - HOUR_MS })]);
    expect(await jobOf(harness, '/g', 'future')).toMatchObject({
      status: 'PENDING',
      place: 'NON_READY',
      reason: 'SCHEDULED',
      dueAt: now + HOUR_MS,
      notBefore: now + HOUR_MS,
    });
    expect(await placeOf(harness, '/g', 'past')).toBe('LANE');
    expect(await countsOf(harness, '/g')).toMatchObject({ pending: 2, nonReady: 1 });
  });

  it('a sealed group and an ended one refuse new ids and know the old ones', async () => {
    const harness = await open();
    const { groups } = harness.store;
    for (const key of ['/sealed', '/completed', '/cancelled']) await fill(harness, group(key), 2);
    await groups.pause('/sealed');
    await groups.seal('/sealed');
    await groups.cancel('/cancelled');
    await groups.seal('/completed');
    await new Instance(harness).finish();
    expect((await viewOf(harness, '/completed')).status).toBe('COMPLETED');
    for (const key of ['/sealed', '/completed', '/cancelled']) {
      const before = await viewOf(harness, key);
      expect(await groups.add(group(key), [job('j0'), job('x'), job('y')], 3)).toEqual({
        kind: 'sealed',
        unknown: 2,
      });
      expect(await groups.add(group(key), jobs(2), 2)).toMatchObject({ kind: 'added', added: 0, known: 2 });
      expect(await groups.add(group(key), [], 0)).toMatchObject({ kind: 'added', added: 0 });
      expect(await viewOf(harness, key)).toEqual(before);
    }
  });
}

/** Limits on what may wait. */
export function filling(open: OpenStore): void {
  it('a full engine refuses the whole batch and leaves nothing behind', async () => {
    const harness = await open({ limits: { queuedJobsMax: 5 } }, 'one shard');
    const { groups, views } = harness.store;
    await fill(harness, group('/g'), 3);
    const refused = await groups.add(group('/other'), jobs(3), 3);
    expect(refused).toEqual({ kind: 'full', scope: 'engine', queued: 3, max: 5 });
    expect(await views.group('/other')).toBeUndefined();
    expect(await groups.add(group('/other'), jobs(2), 2)).toMatchObject({ kind: 'added', added: 2 });
  });

  it('a full tenant is refused, others are not', async () => {
    const harness = await open({ limits: { tenantQueuedJobsMax: 4 } });
    const { groups } = harness.store;
    await fill(harness, group('t/one'), 3);
    expect(await groups.add(group('t/two'), jobs(2), 2)).toEqual({
      kind: 'full',
      scope: 'tenant',
      queued: 3,
      max: 4,
    });
    expect(await groups.add(group('u/two'), jobs(2), 2)).toMatchObject({ kind: 'added' });
    expect(await groups.add(group('t/two'), jobs(1), 1)).toMatchObject({ kind: 'added' });
  });

  it('a call that cannot fit as a whole is refused with its first batch', async () => {
    const harness = await open({ limits: { queuedJobsMax: 5 } });
    expect(await harness.store.groups.add(group('/g'), jobs(2), 6)).toMatchObject({ kind: 'full', max: 5 });
    expect(await harness.store.views.group('/g')).toBeUndefined();
    expect(await harness.store.groups.add(group('/g'), jobs(2), 5)).toMatchObject({ kind: 'added' });
  });

  it('known jobs need no room', async () => {
    const harness = await open({ limits: { queuedJobsMax: 4, tenantQueuedJobsMax: 4 } });
    const { groups } = harness.store;
    await fill(harness, group('/g'), 3);
    expect(await groups.add(group('/g'), jobs(3), 3)).toMatchObject({ kind: 'added', added: 0, known: 3 });
    expect(await groups.add(group('/g'), jobs(4), 4)).toMatchObject({ kind: 'added', added: 1, known: 3 });
    expect(await groups.add(group('/g'), jobs(4), 4)).toMatchObject({ kind: 'added', added: 0, known: 4 });
  });

  it('only waiting jobs of groups that have not ended count', async () => {
    const harness = await open({ limits: { queuedJobsMax: 3 } }, 'one shard');
    const { groups } = harness.store;
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 3);
    const full = { kind: 'full', queued: 3 };
    expect(await groups.add(group('/h'), [job('x')], 1)).toMatchObject(full);
    const [lease] = await instance.exactly(1);
    await fill(harness, group('/h'), [job('x')]);
    expect(await groups.add(group('/h'), [job('y')], 1)).toMatchObject(full);
    await succeed(harness, [lease]);
    expect(await groups.add(group('/h'), [job('y')], 1)).toMatchObject(full);
    await groups.cancel('/g');
    expect(await groups.add(group('/h'), [job('y'), job('z')], 2)).toMatchObject({ kind: 'added', added: 2 });
  });
}

/** `seal`. */
export function sealing(open: OpenStore): void {
  it('ends registration once; the repeat changes nothing', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    const { groups } = harness.store;
    expect(await groups.seal('/g', 2)).toEqual({ kind: 'done', status: 'DISPATCHED', changed: true });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'DISPATCHED', sealed: true });
    expect(await groups.seal('/g', 2)).toEqual({ kind: 'done', status: 'DISPATCHED', changed: false });
    expect(await groups.seal('/g')).toEqual({ kind: 'done', status: 'DISPATCHED', changed: false });
  });

  it('a wrong total is refused and the group stays open', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    const { groups } = harness.store;
    for (const total of [0, 1, 3])
      expect(await groups.seal('/g', total)).toEqual({ kind: 'mismatch', registered: 2 });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'CREATED', sealed: false });
    await fill(harness, group('/g'), [job('third')]);
    expect(await groups.seal('/g', 3)).toMatchObject({ kind: 'done', changed: true });
  });

  it('completes an empty group with zero counts', async () => {
    const harness = await open();
    const { groups, views } = harness.store;
    await groups.create(group('/g'));
    expect(await groups.seal('/g', 0)).toEqual({ kind: 'done', status: 'COMPLETED', changed: true });
    expect(await groups.seal('/g', 0)).toMatchObject({ status: 'COMPLETED' });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', round: 1 });
    expect(await views.result('/g')).toMatchObject({
      groupId: 'g',
      round: 1,
      status: 'COMPLETED',
      total: 0,
      success: 0,
      failed: 0,
      cancelled: 0,
      successRate: 1,
      failedByCode: {},
      failedJobs: [],
      durations: { count: 0 },
    });
  });

  it('a group whose first job has started is RUNNING, one whose jobs are all done is COMPLETED', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g'), 1);
    await fill(harness, group('/h'), 1);
    const leases = await instance.take(2);
    expect((await viewOf(harness, '/g')).status).toBe('CREATED');
    expect(await harness.store.groups.seal('/g')).toMatchObject({ status: 'RUNNING', changed: true });
    await succeed(harness, leases);
    expect((await viewOf(harness, '/g')).status).toBe('COMPLETED');
    expect((await viewOf(harness, '/h')).status).toBe('CREATED');
    expect(await harness.store.groups.seal('/h', 1)).toMatchObject({ status: 'COMPLETED', changed: true });
    expect(await harness.store.views.result('/h')).toMatchObject({ total: 1, success: 1 });
  });

  it('answers for a group that is unknown or was cancelled', async () => {
    const harness = await open();
    const { groups } = harness.store;
    expect(await groups.seal('/none')).toEqual({ kind: 'not-found' });
    await fill(harness, group('/g'), 1);
    await groups.cancel('/g');
    expect(await groups.seal('/g')).toEqual({ kind: 'ended', status: 'CANCELLED' });
    expect((await viewOf(harness, '/g')).status).toBe('CANCELLED');
  });
}
