import { expect, it } from 'vitest';
import { bulkLimits } from '../../src/compose/engines.js';

it('jobs in memory are limited, and one tenant to a part of that; in Redis, and where somebody says so, they are not', () => {
  const { queuedJobsMax = 0, tenantQueuedJobsMax = 0 } = bulkLimits({ redisUrl: undefined, bulk: {} });
  expect(tenantQueuedJobsMax).toBeGreaterThan(0);
  expect(queuedJobsMax).toBeGreaterThan(tenantQueuedJobsMax);
  expect(bulkLimits({ redisUrl: 'redis://host', bulk: {} })).toEqual({});
  const given = { queuedJobsMax: 0, tenantQueuedJobsMax: 7 };
  expect(bulkLimits({ redisUrl: undefined, bulk: { limits: given } })).toEqual(given);
});
