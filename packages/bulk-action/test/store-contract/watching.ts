import { expect, it } from 'vitest';
import type { LookAnswer } from '../../src/ports.js';
import {
  countsOf,
  DAY_MS,
  deadly,
  expectInMs,
  fill,
  group,
  HOUR_MS,
  Instance,
  numbers,
  type OpenStore,
  retry,
  type StoreHarness,
  settle,
  succeed,
  success,
  sweepAll,
  viewOf,
} from './tools.js';

export const MINUTE_MS = 60_000;
export const brief = { timeoutMs: MINUTE_MS };

/** Looks until nothing more is due. */
export async function lookAll({ store }: StoreHarness, max = 100): Promise<LookAnswer['timedOut']> {
  const timedOut: LookAnswer['timedOut'][number][] = [];
  for (;;) {
    const answer = await store.watch.look(max);
    expect(answer.looked).toBeLessThanOrEqual(max);
    timedOut.push(...answer.timedOut);
    if (!answer.more) return timedOut;
  }
}

/** What a look says of one group that it has ended. */
export const ofGroup = (key: string, code = 'GROUP_TIMEOUT', traceparent = '') => [
  { key, code, traceparent },
];

/** `look` and groups that make no progress. */
export function timingOut(open: OpenStore): void {
  it('a group without progress fails, and its open jobs count as cancelled', async () => {
    const harness = await open();
    const { store } = harness;
    const instance = new Instance(harness);
    await fill(harness, group('t/g', { ...brief, traceparent: 'the trace' }), 6);
    await store.groups.seal('t/g');
    const [done, dead, waiting, held] = await instance.exactly(4);
    await store.leases.settle([success(done), deadly(dead), retry(waiting, { delayMs: HOUR_MS })]);
    await harness.advance(MINUTE_MS - 1);
    expect(await store.watch.look(10)).toMatchObject({ timedOut: [], more: false });
    await harness.advance(1);
    const timedOut = ofGroup('t/g', 'GROUP_TIMEOUT', 'the trace');
    expect(await store.watch.look(10)).toMatchObject({ timedOut, more: false });
    const counts = {
      registered: 6,
      success: 1,
      failed: 1,
      cancelled: 4,
      pending: 0,
      inFlight: 0,
      nonReady: 0,
    };
    expect(await viewOf(harness, 't/g')).toMatchObject({ status: 'FAILED', counts });
    const result = { status: 'FAILED', code: 'GROUP_TIMEOUT', total: 6, success: 1, failed: 1, cancelled: 4 };
    expect(await store.views.result('t/g')).toMatchObject(result);
    expect(await store.views.tenant('t')).toMatchObject({ groups: 0, pending: 0, inFlight: 0 });
    expect(await store.leases.renew([held])).toEqual(['cancelled']);
    expect(await store.leases.settle([success(held)])).toEqual([{ status: 'cancelled' }]);
    expect(await instance.take()).toEqual([]);
    expect(await store.views.result('t/g')).toMatchObject(result);
  });

  it('a repeat after a lost answer changes nothing', async () => {
    const harness = await open();
    await fill(harness, group('/g', brief), 2);
    await harness.advance(MINUTE_MS);
    await harness.store.watch.look(10);
    const before = await harness.store.views.result('/g');
    expect(await harness.store.watch.look(10)).toEqual({ timedOut: [], looked: 0, more: false });
    expect(await harness.store.views.result('/g')).toEqual(before);
  });

  it('two looks at once end a group once', async () => {
    const harness = await open({}, 'one shard');
    for (const n of numbers(10)) await fill(harness, group(`/g${n}`, brief), 1);
    await harness.advance(MINUTE_MS);
    const found = (await Promise.all([lookAll(harness, 3), lookAll(harness, 3)])).flat();
    expect(found.map(({ key }) => key).toSorted()).toEqual(numbers(10).map((n) => `/g${n}`));
    for (const n of numbers(10)) expect(await countsOf(harness, `/g${n}`)).toMatchObject({ cancelled: 1 });
  });

  it('registration, first starts and settlements are progress, other tries and looks are not', async () => {
    const harness = await open();
    const { store } = harness;
    const instance = new Instance(harness);
    const pass = async () => {
      await harness.advance(MINUTE_MS - 1);
      expect(await lookAll(harness)).toEqual([]);
    };
    await store.groups.create(group('/g', brief));
    await pass();
    await fill(harness, group('/g', brief), 1);
    await pass();
    const [first] = await instance.exactly(1);
    await pass();
    await settle(harness, retry(first, { delayMs: 0 }));
    await store.gate.dispatch(10);
    const [second] = await instance.exactly(1);
    await harness.advance(1);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
    expect(await store.leases.settle([success(second)])).toEqual([{ status: 'cancelled' }]);

    await fill(harness, group('/h', brief), 2);
    for (const lease of await instance.exactly(2)) {
      await succeed(harness, [lease]);
      await pass();
    }
    await harness.advance(1);
    expect(await lookAll(harness)).toEqual(ofGroup('/h'));
  });

  it('a group that goes on is looked at seldom, and never fails', async () => {
    const harness = await open();
    const instance = new Instance(harness);
    await fill(harness, group('/g', brief), 50);
    await harness.store.groups.seal('/g');
    let looked = 0;
    for (const lease of await instance.exactly(50)) {
      await succeed(harness, [lease]);
      await harness.advance(MINUTE_MS / 10);
      const answer = await harness.store.watch.look(10);
      looked += answer.looked;
      expect(answer.timedOut).toEqual([]);
    }
    expect(looked).toBeLessThanOrEqual(6);
    await harness.advance(DAY_MS / 2);
    expect(await harness.store.watch.look(10)).toMatchObject({ looked: 0, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { success: 50 } });
  });

  it('says when the next one is due', async () => {
    const harness = await open();
    expect(await harness.store.watch.look(10)).toEqual({ timedOut: [], looked: 0, more: false });
    await fill(harness, group('/slow'), 1);
    await fill(harness, group('/quick', brief), 1);
    expectInMs((await harness.store.watch.look(10)).nextInMs, MINUTE_MS);
    await harness.store.groups.cancel('/quick');
    expectInMs((await harness.store.watch.look(10)).nextInMs, HOUR_MS);
  });
}

/** What moves the next look at a group. */
export function changingTimeouts(open: OpenStore): void {
  it('the time of a pause does not count, what was quiet before it does', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await fill(harness, group('/g', brief), 1);
    await harness.advance(MINUTE_MS - 1000);
    await groups.pause('/g');
    await harness.advance(DAY_MS);
    expect(await harness.store.watch.look(10)).toEqual({ timedOut: [], looked: 0, more: false });
    await groups.resume('/g');
    await harness.advance(400);
    await groups.pause('/g');
    await harness.advance(DAY_MS);
    await groups.resume('/g');
    await harness.advance(599);
    expect(await lookAll(harness)).toEqual([]);
    await harness.advance(1);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
  });

  it('progress during a pause counts', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await fill(harness, group('/g', brief), 2);
    const [lease] = await new Instance(harness).exactly(1);
    await harness.advance(MINUTE_MS - 1000);
    await groups.pause('/g');
    await harness.advance(DAY_MS);
    await succeed(harness, [lease]);
    await harness.advance(DAY_MS);
    await groups.resume('/g');
    await harness.advance(MINUTE_MS - 1);
    expect(await lookAll(harness)).toEqual([]);
    await harness.advance(1);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, cancelled: 1 });
  });

  it('a raised or lowered timeout acts on what has passed already', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await fill(harness, group('/raised', brief), 1);
    await fill(harness, group('/lowered'), 1);
    await harness.advance(MINUTE_MS);
    await groups.update('/raised', { timeoutMs: 2 * MINUTE_MS });
    await groups.update('/lowered', { timeoutMs: 90_000 });
    expect(await lookAll(harness)).toEqual([]);
    await harness.advance(30_000);
    expect(await lookAll(harness)).toEqual(ofGroup('/lowered'));
    await groups.update('/raised', { timeoutMs: 1 });
    expect(await lookAll(harness)).toEqual(ofGroup('/raised'));
  });

  it('a change of a paused group does not wake its clock', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await fill(harness, group('/g', brief), 1);
    await groups.pause('/g');
    await groups.update('/g', { timeoutMs: 10 });
    await harness.advance(DAY_MS);
    expect(await lookAll(harness)).toEqual([]);
    await groups.resume('/g');
    await harness.advance(10);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
  });

  it('a redrive opens the next round of a group that timed out, with a clock of its own and the right result', async () => {
    const harness = await open();
    const { store } = harness;
    const instance = new Instance(harness);
    await fill(harness, group('/g', brief), 4);
    const [good, bad] = await instance.exactly(2);
    await store.leases.settle([success(good), deadly(bad)]);
    await harness.advance(MINUTE_MS);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
    await harness.advance(MINUTE_MS);
    expect(await store.deadLetters.redrive({ key: '/g' }, 10)).toMatchObject({ moved: 1 });
    await harness.advance(MINUTE_MS - 1);
    expect(await lookAll(harness)).toEqual([]);
    await sweepAll(harness);
    expect((await instance.finish()).map(({ jobId }) => jobId)).toEqual([bad.jobId]);
    const totals = { total: 4, success: 2, failed: 0, cancelled: 2 };
    expect(await store.views.result('/g')).toMatchObject({ round: 2, status: 'COMPLETED', ...totals });
    expect(await store.views.result('/g', 1)).toMatchObject({
      round: 1,
      code: 'GROUP_TIMEOUT',
      ...{ total: 4, success: 1, failed: 1, cancelled: 2 },
    });
    await harness.advance(HOUR_MS / 2);
    expect(await store.watch.look(10)).toMatchObject({ looked: 0 });
  });

  it('the round that a redrive opened times out like any other', async () => {
    const harness = await open();
    const { store } = harness;
    await fill(harness, group('/g', brief), 1);
    await store.groups.seal('/g');
    await settle(harness, deadly((await new Instance(harness).exactly(1))[0]));
    await store.deadLetters.redrive({ key: '/g' }, 10);
    await harness.advance(MINUTE_MS);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
    expect(await store.views.result('/g')).toMatchObject({
      round: 2,
      status: 'FAILED',
      cancelled: 1,
      failed: 0,
    });
  });
}
