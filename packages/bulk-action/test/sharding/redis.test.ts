import { afterAll } from 'vitest';
import { closeRedis, openRedisShards } from '../redis/redis-fixture.js';
import { bulkStoreContract } from '../store-contract-suite.js';
import { SHARDS } from './open-sharded.js';

afterAll(closeRedis);
bulkStoreContract('of three shards on Redis', (config, size) =>
  openRedisShards(size === 'one shard' ? 1 : SHARDS, config),
);
