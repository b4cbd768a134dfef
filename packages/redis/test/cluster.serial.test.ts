import { startRedis, until } from '@millrace/testkit';
import { leakCheck } from '@millrace/testkit/vitest';
import { Cluster } from 'ioredis';
import { expect, it } from 'vitest';
import { keySpace, loadScripts, RedisConnection } from '../src/index.js';
import { FIXTURE_SCRIPTS } from './fixture-scripts.js';

leakCheck();

it('a Redis Cluster: scripts, pipelines and markers work, keys of one thing lie in one slot', async () => {
  const { count } = loadScripts(FIXTURE_SCRIPTS);
  // One node with all slots: it refuses commands across slots as a large cluster does.
  const clusterPort = 20_000 + (process.pid % 10_000);
  await using server = await startRedis({
    args: [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      String(clusterPort),
      '--cluster-announce-ip',
      '127.0.0.1',
      '--cluster-node-timeout',
      '1000',
    ],
  });
  {
    await using setup = new RedisConnection({ url: server.url });
    await setup.call('CLUSTER', ['ADDSLOTSRANGE', 0, 16_383]);
    const isUp = async () => String(await setup.call('CLUSTER', ['INFO'])).includes('cluster_state:ok');
    await until(isUp, { what: 'the cluster to be up', deadlineMs: 10_000 });
  }
  await using connection = new RedisConnection({
    nodes: [{ host: server.host, port: server.port }],
    pollMs: 30_000,
  });
  const call = (name: string, operation: string) => {
    const key = keySpace('cluster', name);
    return count.call({
      keys: { counter: key('counter'), seen: key('seen') },
      args: { operation, steps: [1] },
    });
  };
  expect((await connection.run(call('one', 'a'))).counter).toBe(1);
  await connection.call('SCRIPT', ['FLUSH']);
  const outcomes = await connection.pipeline([call('one', 'b'), call('one', 'c')]);
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);

  const lists = ['one', 'two', 'three'].map((name) => keySpace('cluster', name)('wake'));
  const waits = lists.map((list) => connection.markers.wait(list));
  for (const list of lists) await connection.call('LPUSH', [list, '1']);
  expect(await Promise.all(waits)).toEqual(['woken', 'woken', 'woken']);

  const given = new Cluster([{ host: server.host, port: server.port }], { lazyConnect: true });
  await using sameAddress = new RedisConnection({ client: given });
  expect((await sameAddress.run(call('one', 'd'))).counter).toBe(4);
  expect(given.status).toBe('wait');
});
