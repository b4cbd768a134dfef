import { expect, it } from 'vitest';
import {
  DAY_MS,
  deadly,
  fill,
  group,
  HOUR_MS,
  Instance,
  jobOf,
  jobs,
  type OpenStore,
  settle,
  success,
  sweepAll,
  viewOf,
} from './tools.js';

/** `sweep` and what it may take. */
export function keeping(open: OpenStore): void {
  it('nothing to sweep', async () => {
    const harness = await open();
    expect(await harness.store.upkeep.sweep(10)).toMatchObject({ swept: 0, more: false });
    await fill(harness, group('/g'), 3);
    await harness.advance(40 * DAY_MS);
    expect(await harness.store.upkeep.sweep(10)).toMatchObject({ swept: 0, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({ counts: { pending: 3 } });
  });

  it('job records go jobRetentionMs after the end, the group and its result resultRetentionMs after it', async () => {
    const harness = await open();
    const { views, groups, leases } = harness.store;
    await fill(harness, group('/g'), 3);
    await groups.seal('/g');
    const [a, b, c] = await new Instance(harness).exactly(3);
    await leases.settle([success(a), success(b), success(c)]);
    await harness.advance(HOUR_MS - 10_000);
    await sweepAll(harness);
    expect((await jobOf(harness, '/g', 'j0')).status).toBe('COMPLETED');
    await harness.advance(10_001);
    await sweepAll(harness);
    expect(await views.job('/g', 'j0')).toBeUndefined();
    expect((await views.jobs('/g', {}, 10)).items).toEqual([]);
    expect(await leases.settle([success(a)])).toEqual([{ status: 'gone' }]);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { success: 3 } });
    expect(await views.result('/g')).toMatchObject({ success: 3 });
    await harness.advance(DAY_MS - HOUR_MS - 10_000);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeDefined();
    await harness.advance(10_001);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeUndefined();
    expect(await views.result('/g')).toBeUndefined();
    expect(await views.result('/g', 1)).toBeUndefined();
    expect((await views.groups({}, 10)).items).toEqual([]);
    expect(await leases.settle([success(a)])).toEqual([{ status: 'gone' }]);
    expect(await groups.seal('/g')).toEqual({ kind: 'not-found' });
    // The id is free again, and nothing of the old group shines through.
    expect(await groups.create(group('/g', { weight: 5 }))).toBe('created');
    expect(await viewOf(harness, '/g')).toMatchObject({ round: 1, weight: 5, counts: { registered: 0 } });
  });

  it('what was said of a tenant outlives its groups', async () => {
    const harness = await open();
    const { groups, views } = harness.store;
    await groups.updateTenant('t', { weight: 3, concurrency: 2 });
    await groups.create(group('t/g'));
    await groups.seal('t/g');
    await harness.advance(2 * DAY_MS);
    await sweepAll(harness);
    await sweepAll(harness);
    expect(await views.group('t/g')).toBeUndefined();
    expect(await views.tenant('t')).toMatchObject({ weight: 3, concurrency: 2, groups: 0 });
  });

  it('an ended group still knows its ids while the records live', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await harness.store.groups.seal('/g');
    await new Instance(harness).finish();
    await harness.advance(HOUR_MS / 2);
    await sweepAll(harness);
    expect(await harness.store.groups.add(group('/g'), jobs(1), 1)).toMatchObject({
      kind: 'added',
      known: 1,
    });
  });
}

/** `sweep` by its bound. */
export function sweeping(open: OpenStore): void {
  it('a sweep is bounded and says when to come again', async () => {
    const harness = await open();
    const { upkeep, groups } = harness.store;
    await fill(harness, group('/g'), 25);
    await groups.seal('/g');
    await new Instance(harness).finish();
    await sweepAll(harness);
    const { nextInMs } = await upkeep.sweep(10);
    if (nextInMs !== undefined) expect(nextInMs).toBeLessThanOrEqual(HOUR_MS);
    await harness.advance(HOUR_MS + 1);
    let records = 25;
    for (let steps = 0; records > 0; steps++) {
      expect(steps).toBeLessThan(10);
      const { swept } = await upkeep.sweep(10);
      expect(swept).toBeLessThanOrEqual(10);
      records = (await harness.store.views.jobs('/g', {}, 100)).items.length;
    }
  });
}

/** What dead letters keep alive. */
export function keepingLetters(open: OpenStore): void {
  it('a group lives as long as its dead letters, which go after deadLetterRetentionMs', async () => {
    const harness = await open();
    const { views, deadLetters, groups } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await settle(harness, success(a));
    await settle(harness, deadly(b));
    await harness.advance(29 * DAY_MS);
    await sweepAll(harness);
    expect(await viewOf(harness, '/g')).toMatchObject({ counts: { success: 1, failed: 1 } });
    expect((await deadLetters.list({}, 10)).items).toMatchObject([
      { job: { id: 'j1', payload: { id: 'j1' } } },
    ]);
    await harness.advance(DAY_MS + 1);
    await sweepAll(harness);
    expect((await deadLetters.list({}, 10)).items).toEqual([]);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeUndefined();
  });

  it('letters purged: the group goes when its own time has come', async () => {
    const harness = await open();
    const { views, deadLetters, groups } = harness.store;
    await fill(harness, group('/g'), 1);
    await groups.seal('/g');
    await settle(harness, deadly((await new Instance(harness).exactly(1))[0]));
    await harness.advance(2 * DAY_MS);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeDefined();
    await deadLetters.purge({}, 10);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeUndefined();
  });

  it('a letter can be redriven after its job record has gone', async () => {
    const harness = await open();
    const { deadLetters, groups } = harness.store;
    await fill(harness, group('/g'), 3);
    await groups.seal('/g');
    const [a, b, c] = await new Instance(harness).exactly(3);
    await harness.store.leases.settle([success(a), success(b), deadly(c)]);
    await harness.advance(10 * DAY_MS);
    await sweepAll(harness);
    expect(await deadLetters.redrive({ key: '/g' }, 10)).toEqual({ moved: 1, more: false });
    const [lease] = await new Instance(harness).exactly(1);
    expect(lease).toMatchObject({ jobId: 'j2', payload: c.payload, retryCount: 0 });
    await settle(harness, success(lease));
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'COMPLETED',
      round: 2,
      counts: { success: 3 },
    });
    await harness.advance(DAY_MS + 1);
    await sweepAll(harness);
    expect(await harness.store.views.group('/g')).toBeUndefined();
  });
}

/** Rounds that were cut short or opened again. */
export function keepingRounds(open: OpenStore): void {
  it('a cancelled group goes although a try never reported; its id is free for another', async () => {
    const harness = await open();
    const { groups, leases, views } = harness.store;
    const instance = new Instance(harness);
    await groups.updateTenant('t', { concurrency: 1 });
    await fill(harness, group('t/g'), 2);
    const [old] = await instance.exactly(1);
    await groups.cancel('t/g');
    await harness.advance(2 * DAY_MS);
    await leases.recover([0]);
    for (let n = 0; n < 3; n++) {
      await sweepAll(harness);
      await harness.advance(10_000);
    }
    expect(await views.group('t/g')).toBeUndefined();
    expect((await views.queues()).inFlight).toBe(0);
    expect(await leases.settle([success(old)])).toEqual([{ status: 'gone' }]);
    await fill(harness, group('t/g'), 2);
    const [lease] = await instance.exactly(1);
    expect(lease.jobId).toBe(old.jobId);
    expect(await leases.settle([success(old)])).toEqual([{ status: 'stale' }]);
    expect(await leases.renew([lease])).toEqual(['ok']);
  });

  it('a redriven round is not swept while it runs', async () => {
    const harness = await open();
    const { deadLetters, groups } = harness.store;
    await fill(harness, group('/g'), 1);
    await groups.seal('/g');
    await settle(harness, deadly((await new Instance(harness).exactly(1))[0]));
    await deadLetters.redrive({}, 10);
    await harness.advance(2 * DAY_MS);
    await sweepAll(harness);
    expect(await jobOf(harness, '/g', 'j0')).toMatchObject({ status: 'PENDING' });
    await new Instance(harness).finish();
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { success: 1 } });
  });
}
