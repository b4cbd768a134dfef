import { latch, ManualClock } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { MemoryStore } from '../../src/memory/store.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import type { BulkStore } from '../../src/ports.js';
import { code } from '../on-memory.js';
import { aroundCall } from '../pool/bench.js';
import { engineOf, numbered, pass, summing, workAs } from './bench.js';

const never = () => new Promise<never>(() => {});

describe('several finalisers', () => {
  const twoEngines = (reduce: (name: string) => (items: AsyncIterable<number>) => unknown) => {
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const engine = (name: string) =>
      engineOf({ clock, name, shared: store, aggregators: [summing('SUM', { reduce: reduce(name) })] });
    return { clock, store, one: engine('one'), two: engine('two') };
  };

  it('bulk-action BA-13: two at once, one wins', async () => {
    const began: string[] = [];
    const { store, one, two, clock } = twoEngines((name) => () => {
      began.push(name);
      return name;
    });
    await one.engine.service.submitBulk({ id: 'g' }, numbered(3));
    await workAs(store, 3);
    const answers = Promise.all([one, two].map(({ engine }) => engine.aggregator.finalizeGroup('g')));
    await clock.advance(10_000);
    expect((await answers).toSorted()).toEqual(['done', 'nothing']);
    expect(began).toHaveLength(1);
    expect(await one.engine.service.getResult('g')).toMatchObject({ data: began[0] });
    expect(await two.engine.aggregator.finalizeGroup('g')).toBe('nothing');
    await expect(two.engine.aggregator.finalizeGroup('h')).rejects.toMatchObject(code('GROUP_NOT_FOUND'));
  });

  it('bulk-action BA-13: whoever waits for the lock gives up after lockRetryCount tries', async () => {
    const gate = latch('the second gave up');
    const { store, one, two, clock } = twoEngines((name) => async () => {
      await gate.wait();
      return name;
    });
    await one.engine.service.submitBulk({ id: 'g' }, numbered(3));
    await workAs(store, 3);
    const first = one.engine.aggregator.finalizeGroup('g');
    const asked: number[] = [];
    const { claimGroup } = store.aggregations;
    Object.assign(store.aggregations, {
      claimGroup: (...args: Parameters<typeof claimGroup>) => {
        asked.push(clock.monotonicMs());
        return claimGroup(...args);
      },
    });
    const second = two.engine.aggregator.finalizeGroup('g');
    await pass(clock, 'the second to give up', () => asked.length === 4, 200);
    expect(await second).toBe('busy');
    expect(asked.map((at) => at - (asked[0] as number))).toEqual([0, 200, 400, 600]);
    gate.open();
    expect(await first).toBe('done');
  });

  it('bulk-action BA-13: one that dies in the middle is followed by another, and changes nothing later', async () => {
    const gate = latch('the first goes on');
    let items = 0;
    const { store, one, two, clock } = twoEngines((name) => async (amounts) => {
      for await (const _ of amounts) {
        items += 1;
        if (name === 'one' && items === 2) await gate.wait();
      }
      return name;
    });
    await one.engine.service.submitBulk({ id: 'g' }, numbered(3));
    await workAs(store, 3);
    const { renew } = store.aggregations;
    let dead = false;
    Object.assign(store.aggregations, {
      renew: (...args: Parameters<typeof renew>) =>
        dead ? Promise.reject(new Error('dead')) : renew(...args),
    });
    const first = one.engine.aggregator.finalizeGroup('g');
    await pass(clock, 'the first to be in the middle', () => items === 2, 1);
    dead = true;
    expect(await store.aggregations.claim('early', 1000)).toMatchObject({ nextInMs: expect.any(Number) });
    await two.engine.start();
    await two.ended('g');
    expect(await one.engine.service.getResult('g')).toMatchObject({ status: 'COMPLETED', data: 'two' });
    gate.open();
    expect(await first).toBe('lost');
    expect(await one.engine.service.getResult('g')).toMatchObject({ round: 1, data: 'two' });
    await two.engine.stop();
  });

  it('bulk-action BA-13: the lock is kept while a long reduce runs', async () => {
    const gate = latch('the reduce ends');
    const { store, one, two, clock } = twoEngines((name) => async () => {
      if (name === 'one') await gate.wait();
      return name;
    });
    await one.engine.service.submitBulk({ id: 'g' }, numbered(1));
    await workAs(store, 1);
    const first = one.engine.aggregator.finalizeGroup('g');
    await two.engine.start();
    await clock.advance(300_000);
    expect(await one.status('g')).toBe('AGGREGATING');
    gate.open();
    expect(await first).toBe('done');
    expect(await one.engine.service.getResult('g')).toMatchObject({ data: 'one' });
    await two.engine.stop();
  });

  it('bulk-action BA-10: a stop gives the lock to others after its grace, whatever reduce does', async () => {
    const { store, one, two, clock } = twoEngines((name) => (name === 'one' ? never : () => 'two'));
    await one.engine.service.submitBulk({ id: 'g' }, numbered(1));
    await workAs(store, 1);
    await one.engine.start();
    await pass(
      clock,
      'the claim',
      async () => (await store.aggregations.claim('x', 1)).aggregation === undefined,
      1,
    );
    let stopped = false;
    const stop = one.engine.stop().then(() => {
      stopped = true;
    });
    await pass(clock, 'the stop', () => stopped, 100);
    await stop;
    expect(await store.aggregations.claimGroup('/g', 'free', 0)).toMatchObject({
      aggregation: { key: '/g' },
    });
    await two.engine.start();
    await two.ended('g');
    expect(await two.engine.service.getResult('g')).toMatchObject({ data: 'two' });
    await two.engine.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('bulk-action BA-13: a process without the aggregator leaves it to one that has it', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(resolveBulkActionConfig(), { clock });
    const other = engineOf({ clock, shared: store, name: 'other', aggregators: [summing('OTHER')] });
    const own = engineOf({ clock, shared: store, aggregators: [summing('SUM')] });
    await own.engine.service.submitBulk({ id: 'g' }, numbered(2));
    await workAs(store, 2);
    await other.engine.start();
    await clock.advance(60_000);
    expect(await own.status('g')).toBe('AGGREGATING');
    expect(await other.engine.aggregator.finalizeGroup('g')).toBe('released');
    await own.engine.start();
    await own.ended('g');
    expect(await own.engine.service.getResult('g')).toMatchObject({ data: { sum: 1 } });
    await other.engine.stop();
    await own.engine.stop();
  });
});

describe('a store that fails', () => {
  it.each(['claim', 'renew', 'page', 'finish'] as const)(
    'bulk-action BA-13: %s failing for a while is no failure of the aggregator',
    async (member) => {
      const clock = new ManualClock();
      const memory = new MemoryStore(resolveBulkActionConfig(), { clock });
      let left = 4;
      const store = aroundCall(memory, 'aggregations' as never, member as never, async (call) => {
        if (left-- > 0) throw new Error('down');
        return call();
      }) as BulkStore;
      const { engine, ended, stop } = engineOf({ clock, shared: store, aggregators: [summing('SUM')] });
      await engine.service.submitBulk({ id: 'g' }, numbered(2));
      await workAs(memory, 2);
      await engine.start();
      await ended('g');
      expect(await engine.service.getResult('g')).toMatchObject({ status: 'COMPLETED', data: { sum: 1 } });
      await stop();
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('bulk-action BA-13: an answer lost after it was executed is the same answer again', async () => {
    for (const member of ['claim', 'finish', 'renew']) {
      const clock = new ManualClock();
      const memory = new MemoryStore(resolveBulkActionConfig(), { clock });
      let lost = 0;
      const store = aroundCall(memory, 'aggregations' as never, member as never, async (call) => {
        const answer = await call();
        if (lost++ < 1) throw new Error('the answer was lost');
        return answer;
      }) as BulkStore;
      let runs = 0;
      const aggregator = summing('SUM', { reduce: () => ++runs });
      const { engine, ended, stop } = engineOf({ clock, shared: store, aggregators: [aggregator] });
      await engine.service.submitBulk({ id: 'g' }, numbered(2));
      await workAs(memory, 2);
      await engine.start();
      await ended('g');
      expect(await engine.service.getResult('g')).toMatchObject({ status: 'COMPLETED', data: 1 });
      expect(runs).toBe(1);
      await stop();
    }
  });
});
