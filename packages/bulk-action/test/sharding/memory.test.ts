import { bulkStoreContract } from '../store-contract-suite.js';
import { openShardedMemory } from './open-sharded.js';

bulkStoreContract('of three shards in memory', async (config, size) => openShardedMemory(config, size));
