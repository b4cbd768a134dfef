import { afterAll, describe, expect, it } from 'vitest';
import { expectConservation } from '../store-contract/conservation.js';
import { HOUR_MS, keepBusy, succeed } from '../store-contract/tools.js';
import { closeRedis, openClocked, placeInRedis } from './redis-fixture.js';

afterAll(closeRedis);

const KEYS = ['/g', 't/a', 't/b'];

/** A store whose keys a test can reach: two groups of one tenant and one of its own, with a job in every place. */
async function openBusy() {
  const { connection, keyPrefix } = await placeInRedis();
  const harness = await openClocked(connection, keyPrefix, { backpressure: { globalRps: 0 } });
  const { store } = harness;
  const instance = await keepBusy(harness, KEYS);
  const call = (command: string, key: string, ...args: string[]) =>
    connection.call(command, [`${keyPrefix}{0}:${key}`, ...args]);
  /** Records are bytes: they stay in Redis, where nobody reads them as text. */
  const run = (lua: string, ...args: string[]) =>
    connection.call('EVAL', [`local base = KEYS[1]\n${lua}`, 1, `${keyPrefix}{0}:`, ...args]);
  const inPlace = async (key: string, place: string): Promise<string> => {
    const { items } = await store.views.jobs(key, {}, 100);
    const found = items.find((job) => job.place === place);
    if (!found) throw new Error(`expected a job of ${key} in ${place}`);
    return found.id;
  };
  return { harness, instance, call, run, inPlace };
}

type Busy = Awaited<ReturnType<typeof openBusy>>;

const DAMAGES: Readonly<Record<string, (busy: Busy, key: string) => Promise<unknown>>> = {
  'a record as it was before a settlement': async ({ harness, instance, run }, key) => {
    await run(`redis.call('SET', base .. 'kept', redis.call('HGET', base .. 'gr', ARGV[1]))`, key);
    const mine = (await instance.take()).filter((lease) => lease.key === key);
    await succeed(harness, mine.slice(0, 2));
    await harness.store.leases.giveBackAll('one', 100);
    expect(await harness.store.watch.reconcile(10)).toMatchObject({ repaired: 0 });
    await run(`redis.call('HSET', base .. 'gr', ARGV[1], redis.call('GET', base .. 'kept'))`, key);
  },
  'a job gone from its lane': ({ call }, key) => call('LPOP', `l:${key}:1`),
  'a job gone from ready': async ({ run, inPlace }, key) => {
    const lua = `for _, entry in ipairs(redis.call('LRANGE', base .. 'ready', 0, -1)) do
      local job = cmsgpack.unpack(entry)
      if job[1] == ARGV[1] and job[2] == ARGV[2] then return redis.call('LREM', base .. 'ready', 1, entry) end
    end`;
    expect(await run(lua, key, await inPlace(key, 'READY'))).toBe(1);
  },
  'a job gone from non-ready': async ({ call, inPlace }, key) =>
    call('ZREM', 'nr', `${key}/${await inPlace(key, 'NON_READY')}`),
  'a job gone from in flight': async ({ call, inPlace }, key) => {
    const name = `${key}/${await inPlace(key, 'IN_FLIGHT')}`;
    await call('HDEL', 'fl', name);
    await call('ZREM', 'fz', name);
  },
  'not watched': ({ call }, key) => call('ZREM', 'watch', key),
};

describe('bulk-action BA-14: a damaged Redis store is repaired', () => {
  for (const [what, damage] of Object.entries(DAMAGES)) {
    for (const key of ['/g', 't/a'])
      it(`${what} of ${key}`, async () => {
        const busy = await openBusy();
        const { harness, instance } = busy;
        const { store } = harness;
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 0 });
        await damage(busy, key);
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 1 });
        expect(await store.watch.reconcile(10)).toEqual({ looked: 3, repaired: 0 });
        await expectConservation(harness);
        await harness.advance(harness.config.reliableQueue.ackTimeoutMs + 1);
        await store.leases.recover([0, 0, 0, 0]);
        await harness.advance(HOUR_MS / 2);
        await store.gate.dispatch(100);
        await instance.finish();
        const counts = { registered: 12, success: 11, failed: 1, cancelled: 0 };
        expect(await store.views.group(key)).toMatchObject({ status: 'COMPLETED', counts });
        await harness.close();
      });
  }
});
