import { afterAll } from 'vitest';
import { bulkStoreContract } from '../store-contract-suite.js';
import { closeRedis, openRedis } from './redis-fixture.js';

afterAll(closeRedis);
bulkStoreContract('redis', (config) => openRedis(config));
