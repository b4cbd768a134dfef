import { describe } from 'vitest';
import { openMemory } from '../memory/open-memory.js';
import { differential } from './suite.js';

describe('bulk-action BA-15: memory against itself', () => {
  const open = async (config = {}) => openMemory(config);
  differential(
    { first: open, second: open },
    'packages/bulk-action/test/differential/differential.slow.test.ts',
  );
});
