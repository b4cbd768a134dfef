import {
  type BulkActionConfig,
  BulkActionEngine,
  defineProcessor,
  type Job,
  type JobInput,
  resolveBulkActionConfig,
} from '@millrace/bulk-action';
import { openRedisStore } from '@millrace/bulk-action/redis';
import { clusterNodes, flushCluster } from './cluster.js';
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

/** Where an engine keeps its jobs. */
type Place = { readonly url: string } | { readonly nodes: readonly { host: string; port: number }[] };

/** One process' engine with a connection of its own, connected; not started. On the Redis of this run unless told. */
export async function openEngine(
  config: BulkActionConfig,
  process?: (job: Job) => unknown,
  place?: Place,
): Promise<OpenEngine> {
  const store = openRedisStore(resolveBulkActionConfig(config), place ?? { url: await redisUrl() });
  await store.start();
  return new BulkActionEngine({
    config,
    processors: process ? [defineProcessor({ type: TYPE, process })] : [],
    store,
  });
}

/** An engine that only hands jobs in; started. */
export async function openSubmitter(config: BulkActionConfig = {}, place?: Place): Promise<OpenEngine> {
  const engine = await openEngine({ ...config, workerPool: { enabled: false } }, undefined, place);
  await engine.start();
  return engine;
}

/** How a contender differs from the engine on the Redis of this run. */
interface Variant {
  readonly name: string;
  readonly shards: number;
  readonly flush?: () => Promise<void>;
  place?(): Promise<Place>;
}

/** Our engine: groups, fair order, limits, leases and counting. */
const engineAs = ({ name, shards, flush, place }: Variant): Contender => ({
  name,
  ...(flush && { flush }),

  async openProducer() {
    const engine = await openSubmitter({ shards, backpressure: { globalRps: GLOBAL_RPS } }, await place?.());
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
    const workerPool = { workerCount: concurrency, fetchBatchSize: FETCH_PER_WORKER * concurrency };
    const config = { shards, backpressure: { globalRps: GLOBAL_RPS }, workerPool };
    const engine = await openEngine(config, () => onJob(), await place?.());
    return { start: () => engine.start(), close: () => engine.stop() };
  },
});

/** On one server. */
export const millrace: Contender = engineAs({ name: 'BulkActionEngine', shards: 1 });

/** On a Redis Cluster of three masters and three replicas. */
export const millraceOnCluster = (shards: number): Contender =>
  engineAs({
    name: shards === 1 ? '1 shard' : `${shards} shards`,
    shards,
    flush: flushCluster,
    place: async () => ({ nodes: await clusterNodes() }),
  });
