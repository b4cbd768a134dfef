import { RedisConnection } from '@millrace/redis';
import { redisSandbox, until } from '@millrace/testkit';
import { describe, expect, it } from 'vitest';
import { defineAggregator } from '../../src/aggregator.js';
import { BulkActionEngine } from '../../src/engine.js';
import { resolveBulkActionConfig } from '../../src/options.js';
import { defineProcessor } from '../../src/processor.js';
import { openRedisStore } from '../../src/redis/index.js';
import { shardTag } from '../../src/rules/shard-tag.js';
import { numbers } from '../store-contract/tools.js';
import { nameIn } from './names-of-shards.js';
import { SHARDS } from './open-sharded.js';

const JOBS = 30;

describe('bulk-action BA-18: two processes on three shards on Redis', () => {
  it('bulk-action BA-18: groups of all shards, at home or not, run once, are added up and told of; every key has its tag', async () => {
    await using sandbox = await redisSandbox();
    const config = { shards: SHARDS, workerPool: { workerCount: 4 } };
    const keyPrefix = `${sandbox.namespace}engine:`;
    const ran: string[] = [];
    const open = () =>
      new BulkActionEngine({
        config,
        store: openRedisStore(resolveBulkActionConfig(config), { url: sandbox.url, keyPrefix }),
        processors: [
          defineProcessor({
            type: 'work',
            process: ({ groupId, id }) => {
              ran.push(`${groupId} ${id}`);
              return 1;
            },
          }),
        ],
        aggregators: [
          defineAggregator({
            type: 'work',
            map: ({ data }) => Number(data),
            reduce: async (values) => {
              let sum = 0;
              for await (const value of values) sum += value;
              return sum;
            },
          }),
        ],
      });
    await using one = open();
    await using two = open();
    await Promise.all([one.start(), two.start()]);
    const told = new Set<string>();
    two.service.subscribe(({ type, groupId }) => {
      if (type === 'group.completed') told.add(groupId);
    });
    const jobs = numbers(JOBS).map((n) => ({ id: `j${n}`, processorType: 'work' }));
    const groups = numbers(SHARDS).flatMap((shard) => [
      { id: `${nameIn(shard)}/home` },
      // Its home is the first shard, its unit is of this one.
      { id: nameIn(0, 10 + shard), tenantId: nameIn(shard, 20) },
    ]);
    for (const group of groups) await one.service.createGroup(group);
    // Nobody but the first one has made them: the second one has to find them.
    for (const { id } of groups) {
      await two.service.addJobs(id, jobs);
      await two.service.seal(id, { total: JOBS });
    }
    for (const { id } of groups) {
      await until(async () => (await one.service.getResult(id)) !== undefined, { what: `${id} to end` });
      expect(await two.service.getResult(id)).toMatchObject({
        status: 'COMPLETED',
        success: JOBS,
        data: JOBS,
      });
    }
    expect(new Set(ran).size).toBe(ran.length);
    expect(ran).toHaveLength(groups.length * JOBS);
    await until(() => told.size === groups.length, { what: 'all events' });
    const { items } = await one.service.listGroups({}, { limit: 100 });
    expect(items.map(({ id }) => id).toSorted()).toEqual(groups.map(({ id }) => id).toSorted());
    await using admin = new RedisConnection({ url: sandbox.url });
    const keys = (await admin.call('KEYS', [`${keyPrefix}*`])) as string[];
    const tags = keys.map((key) => /^\{([\d.]+)\}:/.exec(key.slice(keyPrefix.length))?.[1]);
    expect(new Set(tags)).toEqual(new Set(numbers(SHARDS).map((shard) => shardTag(shard, SHARDS))));
  }, 30_000);
});
