import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withRedis } from '../src/clients.js';
import { leakCheck } from '../src/leak-check.js';
import { isProcessGone } from '../src/processes.js';
import { type RedisCluster, startRedisCluster } from '../src/redis-cluster.js';
import type { RedisServer } from '../src/redis-server.js';
import { until } from '../src/until.js';

leakCheck();

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
}, 60_000);
afterAll(() => cluster.stop());

const ask = (node: RedisServer, command: string, ...args: string[]) =>
  withRedis(node.url, (redis) => redis.call(command, args));

describe('startRedisCluster', () => {
  it('shares the slots among three masters, each with a replica', async () => {
    const masters = await Promise.all([0, 8_000, 16_383].map((slot) => cluster.masterOf(slot)));
    expect(masters).toEqual(cluster.nodes.slice(0, 3));
    for (const node of masters)
      expect(await ask(node, 'INFO', 'replication')).toContain('connected_slaves:1');
  });

  it('a planned failover: the replica serves the keys and has the data', async () => {
    const before = await cluster.masterOf('{a}key');
    await ask(before, 'SET', '{a}key', 'kept');
    const after = await cluster.failover('{a}key');
    expect(after).not.toBe(before);
    expect(await cluster.masterOf('{a}key')).toBe(after);
    expect(await ask(after, 'GET', '{a}key')).toBe('kept');
    await expect(ask(before, 'GET', '{a}key')).rejects.toThrow('MOVED');
  });

  it('a killed master: its replica takes over; restarted, it is a replica', async () => {
    await cluster.healthy();
    const before = await cluster.masterOf('{b}key');
    await before.kill();
    const after = await until(
      async () => {
        const master = await cluster.masterOf('{b}key');
        return master !== before && master;
      },
      { what: 'another master', deadlineMs: 10_000 },
    );
    await until(async () => (await ask(after, 'SET', '{b}key', '1')) === 'OK', { what: 'a write' });
    await before.restart();
    await cluster.healthy();
    expect(await ask(before, 'ROLE')).toContain('slave');
  });

  it('leaves neither process nor folder when stopped, a frozen node included', async () => {
    const pids = cluster.nodes.map(({ pid }) => pid);
    const folders = cluster.nodes.map(({ dir }) => dirname(dir));
    await cluster.nodes[0]?.pause();
    await Promise.all([cluster.stop(), cluster.stop()]);
    expect(pids.every(isProcessGone)).toBe(true);
    expect(folders.filter(existsSync)).toEqual([]);
  });
});
