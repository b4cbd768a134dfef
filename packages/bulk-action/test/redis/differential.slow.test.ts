import { afterAll, describe } from 'vitest';
import { differential } from '../differential/suite.js';
import { openMemory } from '../memory/open-memory.js';
import { closeRedis, openRedis } from './redis-fixture.js';

afterAll(closeRedis);

describe('bulk-action BA-15: Redis against memory', () => {
  differential(
    { first: async (config) => openMemory(config), second: openRedis },
    'packages/bulk-action/test/redis/differential.slow.test.ts',
  );
});
