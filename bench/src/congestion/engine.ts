import { BulkActionEngine, defineProcessor, resolveBulkActionConfig } from '@millrace/bulk-action';
import { RedisStore } from '@millrace/bulk-action/redis';
import { RateLimitedError } from '@millrace/foundation';
import { RedisConnection } from '@millrace/redis';
import { redisUrl } from '../bulk/redis.js';
import type { Contestant } from './contest.js';
import { openClient } from './drive.js';
import { TICK_MS } from './hidden-service.js';

const GROUPS = 8;
const TYPE = 'CALL';
const BATCH = 1000;

/** Each drive has keys of its own: several of them run at the same time. */
let drives = 0;

/** How many jobs there are for each second: more than any service of these runs takes. */
const JOBS_PER_SECOND = 260;

/**
 * The shipped engine on Redis, told nothing of the service but what its answers say.
 * @param adaptiveConcurrency - as a user sets it for a service that queues.
 */
export const shippedEngine = (adaptiveConcurrency: boolean): Contestant => ({
  name: 'Millrace',
  limitUnit: adaptiveConcurrency ? 'at once' : 'per second',
  async drive(url, { workers, forMs }) {
    const client = openClient(url, workers);
    const connection = new RedisConnection({ url: await redisUrl() });
    await connection.start();
    const config = resolveBulkActionConfig({
      resources: adaptiveConcurrency ? { [TYPE]: { adaptiveConcurrency } } : {},
      workerPool: { workerCount: workers, shutdownGracePeriodMs: 2000 },
    });
    const call = async () => {
      if ((await client.call()) === 429) throw new RateLimitedError();
    };
    const engine = new BulkActionEngine({
      config,
      processors: [defineProcessor({ type: TYPE, process: call })],
      store: new RedisStore(config, { connection, keyPrefix: `drive-${drives++}:` }),
    });
    try {
      await fill(engine, Math.ceil((forMs / 1000) * JOBS_PER_SECOND));
      await engine.start();
      return await watch(engine, forMs, adaptiveConcurrency);
    } finally {
      await engine.stop();
      await connection.stop();
      client.close();
    }
  },
});

/** Every group has more than can be done. */
async function fill({ service, store }: BulkActionEngine, jobs: number): Promise<void> {
  await store.start();
  const perGroup = Math.ceil(jobs / GROUPS);
  for (let group = 0; group < GROUPS; group++)
    for (let from = 0; from < perGroup; from += BATCH)
      await service.addJobs(
        `g${group}`,
        Array.from({ length: Math.min(BATCH, perGroup - from) }, () => ({
          processorType: TYPE,
          payload: {},
        })),
      );
}

/** The limit at every tick until the time is over; NaN while there is none. */
function watch({ congestion }: BulkActionEngine, forMs: number, adaptive: boolean): Promise<number[]> {
  const limits: number[] = [];
  return new Promise((resolve, reject) => {
    const look = async () => {
      const resource = (await congestion.getResources()).find((one) => one.resource === TYPE);
      limits.push((adaptive ? resource?.concurrency : resource?.limit) ?? Number.NaN);
    };
    const timer = setInterval(() => void look().catch(reject), TICK_MS);
    setTimeout(() => {
      clearInterval(timer);
      resolve(limits);
    }, forMs);
  });
}
