import { afterAll } from 'vitest';
import { openMemory } from '../memory/open-memory.js';
import { closeRedis, openRedis } from '../redis/redis-fixture.js';
import { shardContract } from './shard-contract.js';

afterAll(closeRedis);
shardContract('memory', async (config) => openMemory(config));
shardContract('Redis', openRedis);
