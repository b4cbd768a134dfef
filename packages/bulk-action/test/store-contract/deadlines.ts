import { until } from '@millrace/testkit';
import { expect, it } from 'vitest';
import { aggregating } from './aggregating.js';
import {
  countsOf,
  DAY_MS,
  fill,
  group,
  HOUR_MS,
  Instance,
  job,
  numbers,
  type OpenStore,
  succeed,
  success,
  sweepAll,
  viewOf,
} from './tools.js';
import { brief, lookAll, MINUTE_MS, ofGroup } from './watching.js';

/** Deadlines of groups, many groups, and clocks that are set. */
export function watchingDeadlines(open: OpenStore): void {
  const late = (key: string) => ofGroup(key, 'DEADLINE_EXCEEDED');

  it('a group past its deadline fails though it was busy, each job counted once', async () => {
    const harness = await open();
    const { store } = harness;
    const instance = new Instance(harness);
    const deadline = (await harness.now()) + MINUTE_MS;
    await fill(harness, group('/g', { deadline }), 3);
    const [a, b] = await instance.exactly(2);
    await harness.advance(MINUTE_MS - 1);
    await succeed(harness, [a]);
    expect(await lookAll(harness)).toEqual([]);
    await harness.advance(1);
    // The gate fails what it meets; the look ends the rest.
    expect(await instance.take()).toEqual([]);
    expect(await countsOf(harness, '/g')).toMatchObject({ success: 1, failed: 1, inFlight: 1 });
    expect(await lookAll(harness)).toEqual(late('/g'));
    const result = { status: 'FAILED', code: 'DEADLINE_EXCEEDED', success: 1, failed: 1, cancelled: 1 };
    expect(await store.views.result('/g')).toMatchObject(result);
    expect(await store.leases.settle([success(b)])).toEqual([{ status: 'cancelled' }]);
    expect(await store.views.result('/g')).toMatchObject(result);
  });

  it('a pause does not stop the clock of a deadline', async () => {
    const harness = await open();
    await fill(harness, group('/g', { deadline: (await harness.now()) + MINUTE_MS }), 2);
    await harness.store.groups.pause('/g');
    await harness.advance(MINUTE_MS);
    expect(await lookAll(harness)).toEqual(late('/g'));
    expect(await countsOf(harness, '/g')).toMatchObject({ cancelled: 2 });
  });

  it('a deadline that is set, moved or taken away acts at once', async () => {
    const harness = await open();
    const { groups } = harness.store;
    const now = await harness.now();
    await fill(harness, group('/set'), 1);
    await fill(harness, group('/moved', { deadline: now + MINUTE_MS }), 1);
    await fill(harness, group('/free', { deadline: now + MINUTE_MS }), 1);
    await groups.update('/set', { deadline: now + MINUTE_MS });
    await groups.update('/moved', { deadline: now + 2 * MINUTE_MS });
    await groups.update('/free', { deadline: null });
    await harness.advance(MINUTE_MS);
    expect(await lookAll(harness)).toEqual(late('/set'));
    await harness.advance(MINUTE_MS);
    expect(await lookAll(harness)).toEqual(late('/moved'));
    expect(await viewOf(harness, '/free')).toMatchObject({ status: 'CREATED' });
  });

  it('4,000 groups end in bounded steps', async () => {
    const harness = await open({}, 'one shard');
    const { store } = harness;
    for (const start of numbers(40)) {
      const keys = numbers(100).map((n) => `t${n}/g${start}`);
      await Promise.all(keys.map((key) => store.groups.add(group(key, brief), [job('j')], 1)));
    }
    await harness.advance(MINUTE_MS);
    expect(await store.watch.look(100)).toMatchObject({ looked: 100, more: true, nextInMs: 0 });
    const rest = await lookAll(harness, 500);
    expect(rest).toHaveLength(3900);
    expect(new Set(rest.map(({ key }) => key)).size).toBe(3900);
    expect((await store.views.queues()).lane).toBe(0);
    await sweepAll(harness);
    // All are gone before every count is compared: that is what the other tests are for.
    await harness.advance(2 * DAY_MS);
    await sweepAll(harness);
    expect((await store.views.groups({}, 1)).items).toEqual([]);
  }, 120_000);

  it('a clock set back does not make a group live longer than its timeout from then on', async () => {
    const harness = await open();
    await fill(harness, group('/g'), 1);
    await fill(harness, group('/brief', brief), 1);
    await harness.jump(-DAY_MS);
    await harness.store.watch.look(10);
    await harness.store.watch.reconcile(10);
    await harness.advance(HOUR_MS);
    const ended = (await lookAll(harness)).map(({ key }) => key);
    expect(ended.toSorted()).toEqual(['/brief', '/g']);
  });
}

/** `look` and groups whose results are to be added up. */
export function watchingAggregations(open: OpenStore): void {
  const TTL_MS = 30_000;

  it('an aggregation that nobody has taken up for long is called for again', async () => {
    const harness = await open();
    const { store } = harness;
    let rings = 0;
    const end = store.wakeUps.listen('aggregate', () => {
      rings += 1;
    });
    await aggregating(harness, '/g');
    await until(() => rings === 1, { what: 'the wake-up for a new aggregation' });
    await store.aggregations.claim('one', TTL_MS);
    await store.watch.look(10);
    await harness.advance(TTL_MS);
    // Its lock has expired, but it is not old yet.
    await store.watch.look(10);
    expect(await store.aggregations.claim('two', 2 * TTL_MS)).toMatchObject({ aggregation: { key: '/g' } });
    await harness.advance(TTL_MS);
    // Old, but somebody is at it.
    await store.watch.look(10);
    await harness.advance(TTL_MS);
    await store.watch.look(10);
    await until(() => rings > 1, { what: 'the wake-up for an old aggregation' });
    end();
    expect(rings).toBe(2);
  });

  it('a group that aggregates for too long fails, and whoever adds up has lost', async () => {
    const harness = await open();
    const { store } = harness;
    await aggregating(harness, '/g', 3);
    await store.aggregations.claim('one', 2 * HOUR_MS);
    await harness.advance(HOUR_MS - 1);
    expect(await lookAll(harness)).toEqual([]);
    await harness.advance(1);
    expect(await lookAll(harness)).toEqual(ofGroup('/g'));
    expect(await store.aggregations.finish('/g', 1, 'one', '6')).toBe('lost');
    const result = { status: 'FAILED', code: 'GROUP_TIMEOUT', success: 3, cancelled: 0 };
    expect(await store.views.result('/g')).toMatchObject(result);
  });

  it('reconciliation leaves a group that aggregates as it is', async () => {
    const harness = await open();
    const { store } = harness;
    await aggregating(harness, '/g');
    await store.aggregations.claim('one', TTL_MS);
    expect(await store.watch.reconcile(10)).toEqual({ looked: 1, repaired: 0 });
    expect(await store.aggregations.finish('/g', 1, 'one', '1')).toBe('done');
  });
}
