import { z } from 'zod';
import { count, storableText, time } from './fields.js';
import { HealthCheck } from './system.js';

/** The most workers that can be wished of an instance. */
export const WORKERS_MAX = 10_000;

const ms = z.number().min(0);

/** How an instance runs bulk jobs. */
export const InstancePool = z.object({
  fetcherRunning: z.boolean().describe('Whether it takes jobs out of the fair queue.'),
  jobTimeoutMs: ms,
  fetchIntervalMs: ms,
  fetchBatchSize: count,
});
/** How an instance runs bulk jobs. */
export type InstancePool = z.infer<typeof InstancePool>;

/** The memory of an instance. */
export const InstanceMemory = z.object({
  rssBytes: count.describe('All of the process.'),
  heapUsedBytes: count,
  heapLimitBytes: count.describe('Beyond it the process ends.'),
  grownBytes: z
    .int()
    .describe('By how much what stays in the heap after collections has grown in overMs; below 0: shrunk.'),
  overMs: ms.describe('How far back that was looked, 15 minutes at most.'),
});
/** The memory of an instance. */
export type InstanceMemory = z.infer<typeof InstanceMemory>;

/** One start of one process of the server. */
export const InstanceBody = z.object({
  instanceId: z.string().describe('Names one start of one process; a restart is a new instance.'),
  bulkInstanceId: z.string().describe('What it is called among those who run bulk jobs.'),
  role: z.enum(['all', 'api', 'worker']),
  version: z.string(),
  host: z.string(),
  pid: count,
  alive: z.boolean().describe('Heard of within the last 15 seconds. Those gone are listed for a day.'),
  stopping: z.boolean().describe('About to stop: it takes no more requests.'),
  stoppingSince: time.nullable().describe('Since when; null: it is not.'),
  gracePeriodMs: ms.nullable().describe('How long a stop may take; null: not known.'),
  startedAt: time,
  seenAt: time.describe('When it was last heard of.'),
  workerCount: count.nullable().describe('Its workers for bulk jobs; null: it runs none.'),
  wantedWorkers: count.nullable().describe('What somebody has scaled it to; null: nobody has.'),
  processors: z.array(z.string()).describe('Types of bulk jobs that it runs; 500 at most are named.'),
  dags: z.array(z.string()).describe('DAGs that it knows; 500 at most are named.'),
  routes: z.array(z.string()).describe('Commands that it takes; 500 at most are named.'),
  outboxConcurrency: count.nullable().describe('Tasks of batches that it runs at once; null: it runs none.'),
  busy: z.object({
    jobs: count.describe('Bulk jobs that run.'),
    tasks: count.describe('Tasks of batches that run.'),
    requests: count.describe('Requests that are being answered.'),
    streams: count.describe('Streams of events that are open.'),
  }),
  backends: z.array(HealthCheck).describe('What it needs, as it saw it.'),
  pool: InstancePool.nullable().describe('How it runs bulk jobs; null: it runs none, or it is not known.'),
  memory: InstanceMemory.nullable().describe('null: not known.'),
});
/** One start of one process of the server. */
export type InstanceBody = z.infer<typeof InstanceBody>;

/** All instances. */
export const InstanceList = z.object({ items: z.array(InstanceBody) });
/** All instances. */
export type InstanceList = z.infer<typeof InstanceList>;

/** The pool of the instance that answers. */
export const PoolStatusBody = z.object({
  workerCount: count.describe('How many are wanted.'),
  activeWorkers: count.describe('Those who take jobs.'),
  idleWorkers: count.describe('Those without a job.'),
  fetcherRunning: z.boolean(),
  dispatcherRunning: z.boolean(),
  fetcherStats: z.record(z.string(), z.number()),
  dispatcherStats: z.record(z.string(), z.number()),
  workers: z
    .array(
      z.object({ id: z.string(), state: z.string(), currentJob: z.string().nullable().describe('Its id.') }),
    )
    .describe('500 at most, those with a job first.'),
  isShuttingDown: z.boolean(),
});
/** The pool of the instance that answers. */
export type PoolStatusBody = z.infer<typeof PoolStatusBody>;

/** The workers of one instance. */
export const InstanceWorkers = z.object({
  instanceId: z.string(),
  bulkInstanceId: z.string(),
  workerCount: count.describe('As it last said.'),
  wantedWorkers: count.nullable().describe('What it was scaled to; null: what is configured.'),
  busy: count.describe('Jobs that run.'),
});
/** The workers of one instance. */
export type InstanceWorkers = z.infer<typeof InstanceWorkers>;

/** Who runs bulk jobs. */
export const PoolBody = z.object({
  instanceId: z.string().describe('The instance that answers.'),
  pool: PoolStatusBody.nullable().describe('Its own pool; null: its role is api, it runs no jobs.'),
  workerCount: count.describe('Of all instances together.'),
  instances: z.array(InstanceWorkers).describe('Those that run jobs and are alive.'),
});
/** Who runs bulk jobs. */
export type PoolBody = z.infer<typeof PoolBody>;

/** How many workers are wanted. */
export const ScaleRequest = z.strictObject({
  workerCount: z.int().min(0).max(WORKERS_MAX).describe('Of each instance that is scaled.'),
  instance: storableText(500)
    .optional()
    .describe('instanceId or bulkInstanceId; without it all instances that run jobs.'),
});
/** How many workers are wanted. */
export type ScaleRequest = z.infer<typeof ScaleRequest>;

/** Which instances were scaled. */
export const ScaleResponse = z.object({
  workerCount: count,
  instances: z.array(z.string()).describe('They apply it within seconds: GET says how far they are.'),
});
/** Which instances were scaled. */
export type ScaleResponse = z.infer<typeof ScaleResponse>;
