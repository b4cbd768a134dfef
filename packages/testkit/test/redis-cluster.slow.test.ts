import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { isProcessGone } from '../src/processes.js';
import { startRedisCluster } from '../src/redis-cluster.js';

leakCheck();

// The cluster tests of @millrace/redis fail over, kill and restart nodes.
it('a Redis Cluster has three masters with a replica each, and stops without a trace', async () => {
  const cluster = await startRedisCluster();
  const masters = await Promise.all([0, 8_000, 16_383].map((slot) => cluster.masterOf(slot)));
  expect(masters).toEqual(cluster.nodes.slice(0, 3));
  for (const { url } of masters)
    expect(await withRedis(url, (redis) => redis.info('replication'))).toContain('connected_slaves:1');

  const replica = await cluster.failover('{a}key');
  expect(masters).not.toContain(replica);
  expect(await cluster.masterOf('{a}key')).toBe(replica);

  const pids = cluster.nodes.map(({ pid }) => pid);
  const folders = cluster.nodes.map(({ dir }) => dirname(dir));
  await replica.pause();
  await Promise.all([cluster.stop(), cluster.stop()]);
  expect(pids.every(isProcessGone)).toBe(true);
  expect(folders.filter(existsSync)).toEqual([]);
});
