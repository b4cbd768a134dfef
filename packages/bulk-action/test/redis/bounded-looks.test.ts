import { afterAll, describe, expect, it } from 'vitest';
import { deadly, fill, group, Instance } from '../store-contract/tools.js';
import { closeRedis, openClocked, placeInRedis } from './redis-fixture.js';

afterAll(closeRedis);

/** More than one script looks at. */
const MANY = 1_100;

describe('bulk-action BA-18: a look at many jobs reads ready once', () => {
  it('of 2,000 waiting jobs with 200 in ready none costs a look at all 200', async () => {
    const { connection, keyPrefix } = await placeInRedis();
    const config = { backpressure: { globalRps: 0 }, workerPool: { fetchBatchSize: 200 } };
    const harness = await openClocked(connection, keyPrefix, config);
    await fill(harness, group('/g'), 2_000);
    const instance = new Instance(harness);
    await instance.fetch(200);
    expect((await harness.store.views.queues()).ready).toBe(200);
    const calls = async () => {
      const stats = String(await connection.call('INFO', ['commandstats']));
      return Number(/cmdstat_lrange:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    const needed: number[] = [];
    for (let look = 0; look < 5; look++) {
      const before = await calls();
      expect((await harness.store.views.jobs('/g', { state: 'FAILED' }, 100)).items).toEqual([]);
      needed.push((await calls()) - before);
    }
    // The ids come by the hundred; others may use this Redis in one of the looks.
    expect(Math.min(...needed)).toBeLessThan(50);
    const waiting = await harness.store.views.jobs('/g', { state: 'PENDING' }, 300);
    const places = waiting.items.map(({ place }) => place);
    expect(places.filter((place) => place === 'READY')).toHaveLength(200);
    await harness.close();
  });
});

describe('bulk-action BA-14: looks past the letters of others', () => {
  it('finds, pages, counts and redrives those of one tenant behind and before many of another', async () => {
    const { connection, keyPrefix } = await placeInRedis();
    const harness = await openClocked(connection, keyPrefix, { backpressure: { globalRps: 0 } });
    const { deadLetters, leases } = harness.store;
    const instance = new Instance(harness);
    const die = async (key: string, count: number) => {
      await fill(harness, group(key), count);
      await leases.settle((await instance.take(count)).map((lease) => deadly(lease)));
    };
    await die('few/old', 2);
    await die('many/g', MANY);
    await die('few/new', 1);
    const few = { tenant: 'few' };
    const idsOf = ({ items }: Awaited<ReturnType<typeof deadLetters.list>>) =>
      items.map(({ job }) => `${job.groupId}/${job.id}`);
    expect(idsOf(await deadLetters.list(few, 10))).toEqual(['few/new/j0', 'few/old/j1', 'few/old/j0']);
    const first = await deadLetters.list(few, 1);
    expect(idsOf(first)).toEqual(['few/new/j0']);
    const second = await deadLetters.list(few, 2, first.cursor);
    expect(idsOf(second)).toEqual(['few/old/j1', 'few/old/j0']);
    expect(second.cursor).toBeUndefined();
    expect((await deadLetters.list({ tenant: 'nobody' }, 1)).cursor).toBeUndefined();
    expect(idsOf(await deadLetters.list({ key: 'many/g', jobId: 'j7' }, 10))).toEqual(['many/g/j7']);
    expect(await deadLetters.redrive({ key: 'many/g', jobId: 'j7' }, 500)).toEqual({ moved: 1, more: false });
    expect(await deadLetters.redrive(few, 2)).toEqual({ moved: 2, more: true });
    expect(await deadLetters.redrive(few, 2)).toEqual({ moved: 1, more: false });
    expect(await deadLetters.purge({}, 5_000)).toEqual({ moved: MANY - 1, more: false });
    await harness.close();
  });
});
