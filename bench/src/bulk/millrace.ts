import {
  type BulkActionConfig,
  BulkActionEngine,
  defineProcessor,
  type Job,
  type JobInput,
  resolveBulkActionConfig,
} from '@millrace/bulk-action';
import { RedisStore } from '@millrace/bulk-action/redis';
import { RedisConnection } from '@millrace/redis';
import type { Contender } from './contender.js';
import { inBatches, jobId, payloadOf, sequence } from './jobs.js';
import { redisUrl } from './redis.js';

/** Above reach, so that the limiter works for every start and never holds one back. */
export const GLOBAL_RPS = 1_000_000;
/** As the guide advises: 2 to 5 times the workers. */
const FETCH_PER_WORKER = 4;
/** Calls of addJobs under way; a group is handed in by one call per 1,000 jobs. */
const UNDER_WAY = 8;
const BATCH_MAX = 1000;
const TYPE = 'noop';

export const groupId = (group: number): string => `g${group}`;
export const jobOf = (index: number): JobInput => ({
  id: jobId(index),
  processorType: TYPE,
  payload: payloadOf(index),
});

/** What a benchmark does with an engine. */
type OpenEngine = Pick<BulkActionEngine, 'service' | 'pool' | 'start' | 'stop'>;

/** One process' engine on the Redis of this run, with a connection of its own, connected; not started. */
export async function openEngine(
  config: BulkActionConfig,
  process?: (job: Job) => unknown,
): Promise<OpenEngine> {
  const connection = new RedisConnection({ url: await redisUrl() });
  await connection.start();
  const engine = new BulkActionEngine({
    config,
    processors: process ? [defineProcessor({ type: TYPE, process })] : [],
    store: new RedisStore(resolveBulkActionConfig(config), { connection }),
  });
  return {
    service: engine.service,
    pool: engine.pool,
    start: () => engine.start(),
    async stop() {
      await engine.stop();
      await connection.stop();
    },
  };
}

/** An engine that only hands jobs in; started. */
export async function openSubmitter(config: BulkActionConfig = {}): Promise<OpenEngine> {
  const engine = await openEngine({ ...config, workerPool: { enabled: false } });
  await engine.start();
  return engine;
}

/** Our engine: groups, fair order, limits, leases and counting. */
export const millrace: Contender = {
  name: 'BulkActionEngine',

  async openProducer() {
    const engine = await openSubmitter({ backpressure: { globalRps: GLOBAL_RPS } });
    const { service } = engine;
    return {
      async submit({ jobs, groups }) {
        const perGroup = Math.ceil(jobs / groups);
        // In steps when a group is large: all groups would otherwise be handed in one after the other anyway.
        const size = Math.min(perGroup, BATCH_MAX);
        await inBatches({ total: jobs, size, underWay: UNDER_WAY }, (from, count) =>
          service.addJobs(groupId(Math.floor(from / perGroup)), sequence(from, count, jobOf)),
        );
      },
      submitOne: (index) => service.submitJob(groupId(index), jobOf(index)),
      close: () => engine.stop(),
    };
  },

  async openConsumer({ concurrency, onJob }) {
    const engine = await openEngine(
      {
        backpressure: { globalRps: GLOBAL_RPS },
        workerPool: { workerCount: concurrency, fetchBatchSize: FETCH_PER_WORKER * concurrency },
      },
      () => onJob(),
    );
    return { start: () => engine.start(), close: () => engine.stop() };
  },
};
