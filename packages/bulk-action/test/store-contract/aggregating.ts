import { expect, it } from 'vitest';
import type { Aggregation } from '../../src/aggregation.js';
import type { LeaseRef, Outcome } from '../../src/lease.js';
import {
  DAY_MS,
  deadly,
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

/** How long a claim lasts. */
export const TTL_MS = 30_000;

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

/** Claims, and fails when nothing is free. */
export async function claimed({ store }: StoreHarness, token: string): Promise<Aggregation> {
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
    // Cursors of other lists begin anew.
    for (const cursor of ['1.2.3', '-'])
      expect((await harness.store.aggregations.page('/g', 1, cursor)).items).toMatchObject([{ jobId: 'j2' }]);
  });

  it('the result of one job is found among those of its group, a part of them at a time', async () => {
    const harness = await open();
    const { leases, aggregations } = harness.store;
    const ids = ['j', ...numbers(118).map((n) => `j${n}`), 'm'];
    await fill(
      harness,
      group('/g'),
      ids.map((id) => job(id, id === 'm' ? { processorType: 'mail j1' } : {})),
    );
    const taken = await new Instance(harness).take(ids.length);
    expect(taken).toHaveLength(ids.length);
    // Those of j117 are nobody's, so nothing of it is kept.
    for (const lease of taken)
      await leases.settle([
        lease.jobId === 'j117'
          ? success(lease)
          : result(lease, lease.jobId === 'm' ? undefined : `"${lease.jobId}"`),
      ]);
    const find = async (jobId: string, max: number) => {
      let looks = 0;
      let cursor: string | undefined;
      do {
        looks++;
        const look = await aggregations.find('/g', jobId, max, cursor);
        if (look.found) return { ...look.found, looks };
        cursor = look.cursor;
      } while (cursor !== undefined);
      return { looks };
    };
    expect(await find('m', 500)).toEqual({ jobId: 'm', processorType: 'mail j1', looks: 1 });
    for (const jobId of ['j', 'j1', 'j11', 'j60', 'j116'])
      expect(await find(jobId, 500)).toEqual({ jobId, processorType: 'work', data: `"${jobId}"`, looks: 1 });
    // The first is the last that is looked at, and nothing is left to look at behind it.
    expect(await find('j', 60)).toMatchObject({ data: '"j"', looks: 2 });
    expect(await find('j', 7)).toMatchObject({ data: '"j"', looks: 17 });
    expect(await find('j117', 60)).toEqual({ looks: 2 });
    expect(await find('none', 119)).toEqual({ looks: 1 });
    expect(await aggregations.find('/nowhere', 'j', 10)).toEqual({});
    expect(await aggregations.find('/nowhere', 'j', 10, '900')).not.toHaveProperty('found');
  });

  it('the result of a job that was sent back is that of its last try', async () => {
    const harness = await open();
    const { leases, aggregations, deadLetters, groups } = harness.store;
    await fill(harness, group('/g'), 2);
    await groups.seal('/g');
    const [a, b] = await new Instance(harness).exactly(2);
    await leases.settle([deadly(a), { ...success(b), outcome: { kind: 'success', data: '1' } }]);
    expect(await aggregations.find('/g', a.jobId, 10)).toEqual({});
    await deadLetters.redrive({ key: '/g' }, 10);
    const [again] = await new Instance(harness).exactly(1);
    await leases.settle([{ ...success(again), outcome: { kind: 'success', data: '2' } }]);
    expect((await aggregations.find('/g', a.jobId, 10)).found).toMatchObject({ data: '2' });
    expect((await aggregations.find('/g', b.jobId, 10)).found).toMatchObject({ data: '1' });
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
