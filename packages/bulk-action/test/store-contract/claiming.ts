import { expect, it } from 'vitest';
import { aggregating, claimed, result, TTL_MS } from './aggregating.js';
import { expectInMs, fill, group, HOUR_MS, Instance, job, type OpenStore, settle, viewOf } from './tools.js';

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
    const harness = await open({}, 'one shard');
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
