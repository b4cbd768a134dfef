import { expect, it } from 'vitest';
import type { LeaseRef, Outcome } from '../../src/lease.js';
import type { Aggregation } from '../../src/ports.js';
import {
  DAY_MS,
  deadly,
  expectInMs,
  failure,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  listed,
  numbers,
  type OpenStore,
  type StoreHarness,
  settle,
  success,
  sweepAll,
  viewOf,
} from './tools.js';

const TTL_MS = 30_000;

type Success = Extract<Outcome, { kind: 'success' }>;

/** A success that leaves something for its group. */
export const result = (lease: LeaseRef, data?: string, fields: Partial<Success> = {}) => ({
  ...success(lease),
  outcome: { kind: 'success', aggregate: true, ...(data !== undefined && { data }), ...fields } as const,
});

/** All results of a group. */
const resultsOf = ({ store }: StoreHarness, key: string) =>
  listed((cursor) => store.aggregations.page(key, 2, cursor));

/** A group whose jobs have succeeded with `0`, `1` … and that waits for its aggregation. */
export async function aggregating(harness: StoreHarness, key: string, count = 2): Promise<void> {
  await fill(harness, group(key), count);
  await harness.store.groups.seal(key);
  // Others may have their turn first.
  const taken = await new Instance(harness, `for ${key}`).take();
  const leases = taken.filter((lease) => lease.key === key);
  await harness.store.leases.settle(leases.map((lease, n) => result(lease, String(n))));
  expect(await viewOf(harness, key)).toMatchObject({ status: 'AGGREGATING' });
}

async function claimed({ store }: StoreHarness, token: string): Promise<Aggregation> {
  const { aggregation } = await store.aggregations.claim(token, TTL_MS);
  if (!aggregation) throw new Error('expected an aggregation to claim, got none');
  return aggregation;
}

/** What settlements leave. */
export function gathering(open: OpenStore): void {
  it('results are kept in the order of settlement, each once', async () => {
    const harness = await open();
    const { leases } = harness.store;
    await fill(harness, group('/g'), [
      ...numbers(3).map((n) => job(`j${n}`)),
      job('m', { processorType: 'mail' }),
    ]);
    const [a, b, c, m] = await new Instance(harness).exactly(4);
    await leases.settle([result(c, '{"n":[2]}'), result(a, '"grün\\n€ 😀"')]);
    await leases.settle([result(c, '"again"'), { ...result(b, '5'), token: b.token + 1000 }, result(m)]);
    await leases.settle([result(b, 'null')]);
    expect(await resultsOf(harness, '/g')).toEqual([
      { jobId: 'j2', processorType: 'work', data: '{"n":[2]}' },
      { jobId: 'j0', processorType: 'work', data: '"grün\\n€ 😀"' },
      { jobId: 'm', processorType: 'mail' },
      { jobId: 'j1', processorType: 'work', data: 'null' },
    ]);
    expect(await resultsOf(harness, '/nowhere')).toEqual([]);
  });

  it('what is plain leaves nothing; data is kept though nobody asks for an aggregation', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 2);
    await harness.store.groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await settle(harness, success(a));
    expect(await settle(harness, { ...success(b), outcome: { kind: 'success', data: '7' } })).toMatchObject({
      groupStatus: 'COMPLETED',
    });
    expect(await resultsOf(harness, '/g')).toEqual([{ jobId: 'j1', processorType: 'work', data: '7' }]);
    expect(await harness.store.views.result('/g')).not.toHaveProperty('resultsDropped');
  });

  it('what no longer fits into the group is counted and not kept', async () => {
    const harness = await open({ limits: { groupResultBytesMax: 10 } });
    const { leases, groups, views } = harness.store;
    await fill(harness, group('/g'), 5);
    await groups.seal('/g');
    const [a, b, c, d, e] = await new Instance(harness).exactly(5);
    // A euro has three bytes.
    await leases.settle([result(a, '"€€"'), result(b, '"xx"'), result(c, '12'), result(d, undefined)]);
    await leases.settle([result(e, undefined, { dropped: true })]);
    expect((await resultsOf(harness, '/g')).map(({ jobId }) => jobId)).toEqual(['j0', 'j2', 'j3']);
    await groups.cancel('/g');
    expect(await views.result('/g')).toMatchObject({ success: 5, resultsDropped: 2 });
  });

  it('numbers are counted by name with the job', async () => {
    const harness = await open();
    const { leases, groups, views } = harness.store;
    await fill(harness, group('/g'), 4);
    const [a, b, c, d] = await new Instance(harness).exactly(4);
    const counted = (lease: LeaseRef, given: Record<string, number>) => ({
      ...success(lease),
      outcome: { kind: 'success', numbers: given } as const,
    });
    await leases.settle([
      counted(a, { 'a:1': 0.1, b: -5 }),
      counted(b, { 'a:1': 0.2, b: 1e21 }),
      counted(a, { b: 9 }),
    ]);
    await leases.settle([counted(c, { 'a:1': 7 }), success(d)]);
    await groups.seal('/g');
    expect(await views.result('/g')).toMatchObject({
      status: 'COMPLETED',
      numbers: {
        'a:1': { count: 3, sum: 0.1 + 0.2 + 7, min: 0.1, max: 7 },
        b: { count: 2, sum: -5 + 1e21, min: -5, max: 1e21 },
      },
    });
    expect(await resultsOf(harness, '/g')).toEqual([]);
  });

  it('a group keeps a hundred names', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 3);
    await harness.store.groups.seal('/g');
    for (const [at, lease] of (await new Instance(harness).exactly(3)).entries()) {
      const given = Object.fromEntries(numbers(50).map((n) => [`n${at * 40 + n}`, 1]));
      await settle(harness, { ...success(lease), outcome: { kind: 'success', numbers: given } });
    }
    const kept = (await harness.store.views.result('/g'))?.numbers ?? {};
    expect(Object.keys(kept)).toHaveLength(100);
    expect(kept).toMatchObject({ n40: { count: 2 }, n99: { count: 1 } });
  });

  it('results go with the job records, are counted as gone, and the numbers stay', async () => {
    const harness = await open();
    const { groups, leases, deadLetters, views } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await leases.settle([result(a, '1', { numbers: { n: 1 } }), deadly(b)]);
    await harness.store.aggregations.finish('/g', 1, 'x');
    await groups.cancel('/g');
    await harness.advance(2 * HOUR_MS);
    await sweepAll(harness);
    expect(await resultsOf(harness, '/g')).toEqual([]);
    await deadLetters.redrive({ key: '/g' }, 10);
    const [again] = await new Instance(harness).exactly(1);
    await settle(harness, result(again, '2', { numbers: { n: 5 } }));
    expect(await resultsOf(harness, '/g')).toMatchObject([{ jobId: 'j1' }]);
    await claimed(harness, 't');
    expect(await harness.store.aggregations.finish('/g', 2, 't', '2')).toBe('done');
    const numbersNow = { n: { count: 2, sum: 6, min: 1, max: 5 } };
    expect(await views.result('/g')).toMatchObject({ resultsDropped: 1, numbers: numbersNow, data: 2 });
    await harness.advance(40 * DAY_MS);
    await sweepAll(harness);
    await sweepAll(harness);
    expect(await views.group('/g')).toBeUndefined();
    await aggregating(harness, '/g', 1);
    expect(await resultsOf(harness, '/g')).toHaveLength(1);
  });
}

/** When a group aggregates. */
export function aggregatingGroups(open: OpenStore): void {
  it('the last settlement of a sealed group aggregates when one of them asked', async () => {
    const harness = await open();
    const { groups, leases, views } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await settle(harness, failure(a, { aggregate: true }));
    expect(await leases.settle([deadly(b)])).toEqual([
      { status: 'accepted', jobStatus: 'FAILED', groupStatus: 'AGGREGATING' },
    ]);
    expect(await leases.settle([deadly(b)])).toMatchObject([{ groupStatus: 'AGGREGATING' }]);
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'AGGREGATING', round: 1, sealed: true });
    expect((await views.tenant('g'))?.groups).toBe(1);
    expect(await views.result('/g')).toBeUndefined();
    expect(await groups.add(group('/g'), [job('new')], 1)).toEqual({ kind: 'sealed', unknown: 1 });
    expect(await claimed(harness, 't')).toMatchObject({ types: ['work'], total: 2, success: 0, failed: 2 });
  });

  it('a seal aggregates too, and an empty group completes at once', async () => {
    const harness = await open();
    const { groups } = harness.store;
    await fill(harness, group('/g'), 1);
    const [a] = await new Instance(harness).exactly(1);
    expect(await settle(harness, result(a, '1'))).toMatchObject({ groupStatus: 'CREATED' });
    expect(await groups.seal('/g')).toEqual({ kind: 'done', status: 'AGGREGATING', changed: true });
    expect(await groups.seal('/g')).toEqual({ kind: 'done', status: 'AGGREGATING', changed: false });
    await groups.create(group('/empty'));
    expect(await groups.seal('/empty')).toMatchObject({ status: 'COMPLETED' });
  });

  it('a cancelled group is lost to its aggregation', async () => {
    const harness = await open();
    const { groups, aggregations, views } = harness.store;
    await aggregating(harness, '/g');
    await claimed(harness, 't');
    expect(await groups.cancel('/g')).toMatchObject({ kind: 'done', status: 'CANCELLED' });
    expect(await aggregations.renew('/g', 1, 't', TTL_MS)).toBe(false);
    expect(await aggregations.finish('/g', 1, 't', '1')).toBe('lost');
    expect(await aggregations.fail('/g', 1, 't', 'no')).toBe('lost');
    expect(await aggregations.claim('other', TTL_MS)).toEqual({});
    expect(await aggregations.claim('t', TTL_MS)).toEqual({});
    const ended = { status: 'CANCELLED', code: 'CANCELLED', success: 2, cancelled: 0 };
    expect(await views.result('/g')).toMatchObject(ended);
  });

  it('a letter redriven meanwhile puts the round back: the old claim is lost, all results are added up later', async () => {
    const harness = await open();
    const { groups, leases, aggregations, deadLetters } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await leases.settle([result(a, '1'), deadly(b)]);
    await claimed(harness, 't');
    expect(await deadLetters.redrive({}, 10)).toEqual({ moved: 1, more: false });
    expect(await viewOf(harness, '/g')).toMatchObject({
      status: 'RUNNING',
      round: 1,
      counts: { pending: 1, failed: 0 },
    });
    expect(await aggregations.finish('/g', 1, 't', '1')).toBe('lost');
    const [again] = await new Instance(harness).exactly(1);
    expect(await settle(harness, success(again))).toMatchObject({ groupStatus: 'AGGREGATING' });
    await claimed(harness, 'u');
    expect(await aggregations.finish('/g', 1, 't', '1')).toBe('lost');
    expect(await aggregations.finish('/g', 1, 'u', '2')).toBe('done');
  });

  it('a redrive of an ended group opens the next round, whose aggregation reads all results', async () => {
    const harness = await open();
    const { groups, leases, aggregations, deadLetters, views } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await leases.settle([result(a, '1'), deadly(b)]);
    await claimed(harness, 't');
    expect(await aggregations.finish('/g', 1, 't', '[1]')).toBe('done');
    await deadLetters.redrive({}, 10);
    expect(await aggregations.finish('/g', 1, 't', '[1]')).toBe('lost');
    const [again] = await new Instance(harness).exactly(1);
    await settle(harness, success(again));
    expect(await claimed(harness, 'u')).toMatchObject({ round: 2, success: 2, failed: 0, types: ['work'] });
    expect(await resultsOf(harness, '/g')).toMatchObject([{ data: '1' }]);
    expect(await aggregations.finish('/g', 2, 'u', '[1,2]')).toBe('done');
    expect(await views.result('/g')).toMatchObject({ round: 2, data: [1, 2] });
    expect(await views.result('/g', 1)).toMatchObject({ round: 1, data: [1], failed: 1 });
  });
}

/** Who holds the lock. */
export function claiming(open: OpenStore): void {
  it('one token holds an aggregation; the same one again gets the same', async () => {
    const harness = await open();
    const { aggregations } = harness.store;
    expect(await aggregations.claim('t', TTL_MS)).toEqual({});
    const from = await harness.now();
    await aggregating(harness, '/g');
    const first = await claimed(harness, 't');
    expect(first).toMatchObject({ key: '/g', round: 1, types: ['work'], total: 2, success: 2, failed: 0 });
    expect(first.startedAt).toBeGreaterThanOrEqual(Math.floor(from));
    expect(first.completedAt).toBeGreaterThanOrEqual(first.startedAt);
    expect(await claimed(harness, 't')).toEqual(first);
    const { aggregation, nextInMs } = await aggregations.claim('other', TTL_MS);
    expect(aggregation).toBeUndefined();
    expectInMs(nextInMs, TTL_MS);
    expect((await aggregations.claimGroup('/g', 't', TTL_MS))?.aggregation).toEqual(first);
    const busy = await aggregations.claimGroup('/g', 'other', TTL_MS);
    expect(busy?.aggregation).toBeUndefined();
    expectInMs(busy?.nextInMs, TTL_MS);
  });

  it('who stops renewing loses it to the next; whoever renews keeps it', async () => {
    const harness = await open();
    const { aggregations, views } = harness.store;
    await aggregating(harness, '/g');
    await claimed(harness, 'dead');
    await harness.advance(TTL_MS / 2);
    expect(await aggregations.renew('/g', 1, 'dead', TTL_MS)).toBe(true);
    await harness.advance(TTL_MS - 5000);
    expect((await aggregations.claim('next', TTL_MS)).aggregation).toBeUndefined();
    await harness.advance(5001);
    expect((await claimed(harness, 'next')).key).toBe('/g');
    expect(await aggregations.renew('/g', 1, 'dead', TTL_MS)).toBe(false);
    expect(await aggregations.finish('/g', 1, 'dead', '"late"')).toBe('lost');
    expect(await aggregations.fail('/g', 1, 'dead', 'late')).toBe('lost');
    expect(await aggregations.finish('/g', 2, 'next', '0')).toBe('lost');
    expect(await aggregations.finish('/g', 1, 'next', '"mine"')).toBe('done');
    expect(await views.result('/g')).toMatchObject({ status: 'COMPLETED', data: 'mine' });
  });

  it('given back, it is free at once', async () => {
    const harness = await open();
    const { aggregations } = harness.store;
    await aggregating(harness, '/g');
    await claimed(harness, 't');
    expect(await aggregations.renew('/g', 1, 't', 0)).toBe(true);
    expect((await claimed(harness, 'u')).key).toBe('/g');
    expect(await aggregations.renew('/g', 1, 't', 0)).toBe(false);
  });

  it('the one that has waited longest comes first, and only those whose types are known', async () => {
    const harness = await open();
    const { aggregations } = harness.store;
    for (const key of ['/c', '/b', '/a']) {
      await aggregating(harness, key, 1);
      await harness.advance(10);
    }
    expect(await aggregations.claim('t', TTL_MS, ['mail'])).toEqual({});
    expect(await aggregations.claim('t', TTL_MS, [])).toEqual({});
    expect((await aggregations.claim('t', TTL_MS, ['mail', 'work'])).aggregation?.key).toBe('/c');
    expect((await aggregations.claim('u', TTL_MS)).aggregation?.key).toBe('/b');
    expect((await aggregations.claimGroup('/a', 'v', TTL_MS))?.aggregation?.key).toBe('/a');
    const passed = await aggregations.claim('w', TTL_MS, ['mail']);
    expect(passed.aggregation).toBeUndefined();
    expectInMs(passed.nextInMs, TTL_MS);
    expect(await aggregations.claimGroup('/nowhere', 't', TTL_MS)).toBeUndefined();
  });

  it('of two types only both together are enough', async () => {
    const harness = await open();
    const { aggregations, groups } = harness.store;
    await fill(harness, group('/g'), [job('a', { processorType: 'mail' }), job('b')]);
    await groups.seal('/g');
    for (const lease of await new Instance(harness).exactly(2)) await settle(harness, result(lease, '1'));
    expect(await aggregations.claim('t', TTL_MS, ['mail'])).toEqual({});
    const { aggregation } = await aggregations.claim('t', TTL_MS, ['work', 'mail']);
    expect(aggregation?.types).toEqual(['mail', 'work']);
  });

  it('a clock set back does not lock it for longer than it was locked for', async () => {
    const harness = await open();
    const { aggregations } = harness.store;
    await aggregating(harness, '/g');
    await claimed(harness, 'dead');
    await harness.jump(-HOUR_MS);
    await aggregations.claim('next', TTL_MS);
    await harness.advance(TTL_MS + 1);
    expect((await claimed(harness, 'next')).key).toBe('/g');
  });
}

/** How an aggregation ends. */
export function finishing(open: OpenStore): void {
  it('the result and COMPLETED come together; the same token again hears the same', async () => {
    const harness = await open();
    const { aggregations, views } = harness.store;
    await aggregating(harness, '/g');
    await harness.advance(50);
    await claimed(harness, 't');
    const data = '{"sum":1,"__proto__":[],"text":"€ \\"😀"}';
    expect(await aggregations.finish('/g', 1, 't', data)).toBe('done');
    expect(await aggregations.finish('/g', 1, 't', '"other"')).toBe('done');
    expect(await aggregations.finish('/g', 1, 'u', '"other"')).toBe('lost');
    expect(await aggregations.fail('/g', 1, 't', 'no')).toBe('lost');
    const ended = await views.result('/g');
    expect(ended).toMatchObject({ status: 'COMPLETED', round: 1, success: 2, total: 2 });
    expect(ended?.data).toEqual(JSON.parse(data));
    expect(await viewOf(harness, '/g')).toMatchObject({ status: 'COMPLETED', counts: { success: 2 } });
    expect(await aggregations.claim('v', TTL_MS)).toEqual({});
    expect(await aggregations.claimGroup('/g', 'v', TTL_MS)).toBeUndefined();
    expect((await views.tenant('g'))?.groups).toBe(0);
  });

  it('without data there is none in the result', async () => {
    const harness = await open();
    await aggregating(harness, '/g');
    await claimed(harness, 't');
    expect(await harness.store.aggregations.finish('/g', 1, 't')).toBe('done');
    expect(await harness.store.views.result('/g')).not.toHaveProperty('data');
  });

  it('a failure is tried again three times, after pauses; then FAILED with its counters', async () => {
    const harness = await open();
    const { aggregations, views } = harness.store;
    await aggregating(harness, '/g');
    for (const n of [1, 2, 3]) {
      await claimed(harness, `t${n}`);
      expect(await aggregations.fail('/g', 1, `t${n}`, 'no')).toBe('again');
      expect(await aggregations.fail('/g', 1, `t${n}`, 'no')).toBe('again');
      expect(await aggregations.finish('/g', 1, `t${n}`, '1')).toBe('lost');
      expect(await aggregations.renew('/g', 1, `t${n}`, TTL_MS)).toBe(false);
      expectInMs((await aggregations.claim('early', TTL_MS)).nextInMs, n * 1000);
      await harness.advance(n * 1000);
    }
    await claimed(harness, 't4');
    expect(await aggregations.fail('/g', 1, 't4', 'not "this"\n€ time')).toBe('failed');
    expect(await aggregations.fail('/g', 1, 't4', 'x')).toBe('failed');
    expect(await aggregations.finish('/g', 1, 't4', '1')).toBe('lost');
    expect(await views.result('/g')).toMatchObject({
      status: 'FAILED',
      code: 'AGGREGATION_FAILED',
      message: 'not "this"\n€ time',
      success: 2,
      cancelled: 0,
    });
    expect(await aggregations.claim('t5', TTL_MS)).toEqual({});
  });

  it('it rings when there is something to add up, and tells when it is done', async () => {
    const harness = await open();
    const { aggregations, wakeUps } = harness.store;
    const heard: string[] = [];
    const rung = new Promise<void>((resolve) => {
      wakeUps.listen('aggregate', resolve);
    });
    const completed = new Promise<void>((resolve) => {
      wakeUps.subscribe(({ type, status, round }) => {
        heard.push(`${type} ${status} ${round}`);
        if (type === 'group.completed') resolve();
      });
    });
    await aggregating(harness, '/g');
    await rung;
    await claimed(harness, 't');
    expect(heard.join()).not.toContain('completed');
    await aggregations.finish('/g', 1, 't', '1');
    await completed;
    expect(heard).toContain('group.completed COMPLETED 1');
  });
}
