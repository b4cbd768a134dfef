import { afterAll, describe, expect, it } from 'vitest';
import type { BulkActionConfig } from '../../src/options.js';
import { countsOf, fill, group, Instance, job, jobs, settle, success } from '../store-contract/tools.js';
import { closeRedis, openClocked, placeInRedis } from './redis-fixture.js';

const LIMITED: BulkActionConfig = {
  backpressure: { globalRps: 0 },
  resources: { work: { concurrency: 2 }, mail: { rps: 1 } },
};
const UNLIMITED: BulkActionConfig = { backpressure: { globalRps: 0 } };

describe('bulk-action BA-3: resources of a store that is opened with other settings', () => {
  afterAll(closeRedis);

  it('bulk-action BA-3: a limit that was taken away holds nothing back, and nothing is left in its line', async () => {
    const { connection, keyPrefix } = await placeInRedis();
    const before = await openClocked(connection, keyPrefix, LIMITED);
    await fill(before, group('a/work'), 6);
    await fill(before, group('b/mails'), [...jobs(3, { processorType: 'mail' }, 'm'), job('last')]);
    const started = await new Instance(before, 'old').take();
    expect(started.map(({ jobId }) => jobId)).toEqual(['j0', 'm0', 'j1']);
    await before.close();

    const after = await openClocked(connection, keyPrefix, UNLIMITED);
    for (const lease of started) await settle(after, success(lease));
    const rest = await new Instance(after, 'new').finish();
    expect(rest).toHaveLength(7);
    for (const key of ['a/work', 'b/mails'])
      expect(await countsOf(after, key)).toMatchObject({ pending: 0, inFlight: 0 });
    const keys = (await connection.call('KEYS', [`${keyPrefix}*`])) as string[];
    expect(keys.filter((key) => /:r[tg]:/.test(key))).toEqual([]);
    await after.close();
  });

  it('bulk-action BA-3: a limit that is new holds from the next turn on', async () => {
    const { connection, keyPrefix } = await placeInRedis();
    const before = await openClocked(connection, keyPrefix, UNLIMITED);
    await fill(before, group('/work'), 8);
    const running = await new Instance(before, 'old').exactly(3);
    await before.close();
    const after = await openClocked(connection, keyPrefix, LIMITED);
    const instance = new Instance(after, 'new');
    // What ran before came from no line: it is not counted.
    expect(await instance.take()).toHaveLength(2);
    for (const lease of running) await settle(after, success(lease));
    expect(await instance.take()).toEqual([]);
    await after.close();
  });
});
