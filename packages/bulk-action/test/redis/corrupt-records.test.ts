import { afterAll, describe, expect, it } from 'vitest';
import { expectConservation } from '../store-contract/conservation.js';
import {
  countsOf,
  DAY_MS,
  deadly,
  fill,
  group,
  Instance,
  jobOf,
  settle,
  succeed,
  sweepAll,
} from '../store-contract/tools.js';
import { closeRedis, openClocked, placeInRedis } from './redis-fixture.js';

afterAll(closeRedis);

const JOBS = 12;
const TAKEN = 8;
const RECORDS: readonly string[] = ['\u0000not a record\u00ff', '', '5', '{"id":"j1"}'];

/** Groups of 12 waiting jobs each, and somebody who writes over the record of one job. */
async function openWaiting(keys: readonly string[]) {
  const { connection, keyPrefix } = await placeInRedis();
  const harness = await openClocked(connection, keyPrefix, { backpressure: { globalRps: 0 } });
  for (const key of keys) await fill(harness, group(key), JOBS);
  const instance = new Instance(harness);
  await instance.beat();
  const damage = async (key: string, jobId: string, record: string) =>
    expect(await connection.call('HSET', [`${keyPrefix}{0}:j:${key}`, jobId, record])).toBe(0);
  return { harness, instance, damage };
}

describe('bulk-action BA-14: a damaged record costs its own job, and no neighbour', () => {
  for (const keys of [['/g'], ['t/a', 't/b'], ['/g', 't/a', '/h', 't/b']])
    it(`wherever in the lane it stands, of ${keys.join(' ')}`, async () => {
      for (let place = 0; place < TAKEN; place++) {
        const { harness, instance, damage } = await openWaiting(keys);
        const [key = ''] = keys;
        const victim = `j${place}`;
        await damage(key, victim, RECORDS[place % RECORDS.length] ?? '');
        const request = { instanceId: 'other', seq: 1, max: TAKEN, turns: TAKEN };
        const { jobs: taken } = await harness.store.leases.reserve(request);
        expect(taken.length).toBeGreaterThanOrEqual(TAKEN - 1);
        await expectConservation(harness);
        await succeed(harness, taken);
        await expectConservation(harness);
        const done = [...taken, ...(await instance.finish())];
        expect(done.filter((lease) => lease.key === key && lease.jobId === victim)).toEqual([]);
        expect(await jobOf(harness, key, victim)).toMatchObject({ status: 'FAILED', place: 'DONE' });
        for (const each of keys) {
          const failed = each === key ? 1 : 0;
          const counts = { registered: JOBS, success: JOBS - failed, failed, pending: 0, inFlight: 0 };
          expect(await countsOf(harness, each), `${victim} of ${key}`).toMatchObject(counts);
        }
        await expectConservation(harness);
        await harness.close();
      }
    });
});

describe('bulk-action BA-14: a damaged dead letter keeps no other', () => {
  it('it goes when it is the oldest, and the others when their time has come', async () => {
    const { connection, keyPrefix } = await placeInRedis();
    const harness = await openClocked(connection, keyPrefix);
    await fill(harness, group('/g'), 2);
    for (const lease of await new Instance(harness).exactly(2)) await settle(harness, deadly(lease));
    const [oldest = ''] = (await connection.call('ZRANGE', [`${keyPrefix}{0}:dl`, 0, 0])) as string[];
    await connection.call('HSET', [`${keyPrefix}{0}:dlr`, oldest, 'no letter']);
    await harness.advance(31 * DAY_MS);
    await sweepAll(harness);
    expect((await harness.store.deadLetters.list({}, 10)).items).toEqual([]);
    expect(await connection.call('ZCARD', [`${keyPrefix}{0}:dl`])).toBe(0);
    await harness.close();
  });
});
