import { afterAll } from 'vitest';
import { closeRedis, openRedisShards } from '../redis/redis-fixture.js';
import { bulkStoreContract } from '../store-contract-suite.js';
import { SHARDS } from './open-sharded.js';

afterAll(closeRedis);
// The gate and leases of three shards are tested in memory, those of Redis as one shard; here it is about what lies between.
bulkStoreContract(
  'of three shards on Redis',
  (config, size) => openRedisShards(size === 'one shard' ? 1 : SHARDS, config),
  ['groups', 'engine', 'some disorder'],
);
