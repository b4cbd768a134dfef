import { z } from 'zod';
import { amount, count, pageOf, pagingBy, storableText, time } from './fields.js';
import { defineRoutes } from './route.js';
import { HealthCheck } from './system.js';

/** Maximum number of workers of an instance. */
export const WORKERS_MAX = 10_000;

/** The worker pool settings of an instance. */
export const InstancePool = z.object({
  fetcherRunning: z.boolean().describe('True if it takes jobs from the fair queue.'),
  jobTimeoutMs: amount,
  fetchIntervalMs: amount,
  fetchBatchSize: count,
});

/** The memory of an instance. */
export const InstanceMemory = z.object({
  rssBytes: count.describe('All memory of the process.'),
  heapUsedBytes: count,
  heapLimitBytes: count.describe('The process ends above this size.'),
  grownBytes: z
    .int()
    .describe('Growth of the heap after garbage collections during overMs; below 0 if it shrank.'),
  overMs: amount.describe('Duration of that measurement, 15 minutes at most.'),
});
export type InstanceMemory = z.infer<typeof InstanceMemory>;

/** An instance: one start of one process of the server. */
export const InstanceBody = z.object({
  instanceId: z.string().describe('A restart makes a new instance.'),
  bulkInstanceId: z.string().describe('Its id in the bulk part.'),
  role: z.enum(['all', 'api', 'worker']),
  version: z.string(),
  host: z.string(),
  pid: count,
  alive: z.boolean().describe('True if seen within the last 15 seconds. Others are listed for a day.'),
  stopping: z.boolean().describe('True if it is about to stop and accepts no more requests.'),
  stoppingSince: time.nullable(),
  gracePeriodMs: amount.nullable().describe('Maximum duration of a stop; null if unknown.'),
  startedAt: time,
  seenAt: time,
  workerCount: count.nullable().describe('Its workers for bulk jobs; null if it runs none.'),
  wantedWorkers: count.nullable().describe('Workers it was scaled to; null if it was not scaled.'),
  processors: z.array(z.string()).describe('Types of bulk jobs that it runs, 500 at most.'),
  dags: z.array(z.string()).describe('DAGs that it runs, 500 at most.'),
  routes: z.array(z.string()).describe('Commands that it accepts, 500 at most.'),
  outboxConcurrency: count.nullable().describe('Maximum concurrent batch tasks; null if it runs none.'),
  busy: z.object({
    jobs: count.describe('Running bulk jobs.'),
    tasks: count.describe('Running tasks of batches.'),
    requests: count.describe('Open requests.'),
    streams: count.describe('Open event streams.'),
  }),
  backends: z.array(HealthCheck).describe('The backends as this instance sees them.'),
  pool: InstancePool.nullable().describe('null if it runs no bulk jobs, or if unknown.'),
  memory: InstanceMemory.nullable().describe('null if unknown.'),
});
export type InstanceBody = z.infer<typeof InstanceBody>;

/** All instances. */
export const InstanceList = z.object({ items: z.array(InstanceBody) });
export type InstanceList = z.infer<typeof InstanceList>;

/** The pool of the responding instance. */
export const PoolStatusBody = z.object({
  workerCount: count.describe('Wanted workers.'),
  activeWorkers: count.describe('Workers that take jobs.'),
  idleWorkers: count.describe('Workers without a job.'),
  fetcherRunning: z.boolean(),
  dispatcherRunning: z.boolean(),
  fetcherStats: z.record(z.string(), z.number()),
  dispatcherStats: z.record(z.string(), z.number()),
  workers: z
    .array(
      z.object({
        id: z.string(),
        state: z.string(),
        currentJob: z.string().nullable().describe('The id of its job.'),
      }),
    )
    .describe('500 at most, those with a job first.'),
  isShuttingDown: z.boolean(),
});
export type PoolStatusBody = z.infer<typeof PoolStatusBody>;

/** The workers of one instance. */
export const InstanceWorkers = z.object({
  instanceId: z.string(),
  bulkInstanceId: z.string(),
  workerCount: count.describe('As last reported.'),
  wantedWorkers: count.nullable().describe('Workers it was scaled to; null means as configured.'),
  busy: count.describe('Running jobs.'),
});

/** The workers of all instances, and the pool of the responding one. */
export const PoolBody = z.object({
  instanceId: z.string().describe('The responding instance.'),
  pool: PoolStatusBody.nullable().describe('Its pool; null if its role is api, which runs no jobs.'),
  workerCount: count.describe('Workers of all instances together.'),
  instances: z.array(InstanceWorkers).describe('Live instances that run jobs.'),
});
export type PoolBody = z.infer<typeof PoolBody>;

/** The number of workers to scale to. */
export const ScaleRequest = z.strictObject({
  workerCount: z.int().min(0).max(WORKERS_MAX).describe('Workers of each scaled instance.'),
  instance: storableText(500)
    .optional()
    .describe('instanceId or bulkInstanceId (all instances that run jobs).'),
});

/** The instances that were scaled. */
export const ScaleResponse = z.object({
  workerCount: count,
  instances: z.array(z.string()).describe('They apply it within seconds; GET shows the progress.'),
});
export type ScaleResponse = z.infer<typeof ScaleResponse>;

/** The queues of the engine now. */
export const QueuesBody = z.object({
  tenants: count,
  groups: count.describe('Groups with waiting jobs.'),
  parkedGroups: count.describe('Of these groups, those that wait for a token of a rate limit.'),
  lane: count.describe('Jobs in the lanes of all groups.'),
  ready: count,
  readyBound: amount.describe('Maximum length of ready now.'),
  nonReady: count,
  nonReadyByReason: z.record(z.string(), count),
  inFlight: count,
  deadLetters: count,
  liveSlots: count.describe('Worker slots of live instances.'),
  waitingSlots: count.describe('Of these slots, those without a job.'),
  startsPerSecond: amount,
  oldestWaitingMs: amount.describe('Longest wait among the jobs at the heads of the lanes.'),
  congestionRates: z.record(z.string(), z.number()).describe('Maximum starts/s of each resource now.'),
});
export type QueuesBody = z.infer<typeof QueuesBody>;

/** An entry of the audit log: one change of work or settings. */
export const AuditEntry = z.object({
  id: z.string(),
  at: time,
  key: z.string().describe('Name of the key; local on a server without keys.'),
  role: z.string(),
  tenant: z.string().nullable().describe('Tenant of the key; null means all tenants.'),
  route: z.string().describe('The id of the route.'),
  method: z.string(),
  path: z.string(),
  params: z.record(z.string(), z.string()).describe('Parameters of the path and the query.'),
  body: z.string().nullable().describe('Summary without secrets, 4 KB at most; null without a body.'),
  instanceId: z.string().describe('The instance that handled the request.'),
  status: z.int().nullable().describe('Status of the response; null if the outcome is unknown.'),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

/** A page of the audit log, newest first. */
export const AuditPage = pageOf(AuditEntry);
export type AuditPage = z.infer<typeof AuditPage>;

const FLEET = { tag: 'Fleet', tenancy: 'shared', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] } as const;

export const FLEET_ROUTES = defineRoutes(FLEET, {
  listInstances: {
    summary: 'List instances',
    description:
      'Every process of this server, the work it runs and the state of its backends. Stopped instances are listed for a day.',
    ok: InstanceList,
  },
  getPool: {
    summary: 'Get the worker pool',
    description: 'The pool of the responding instance, and the number of workers of each instance.',
    ok: PoolBody,
  },
  scalePool: {
    summary: 'Scale the worker pool',
    description:
      'Sets the number of workers of one instance, or of each, until it restarts. Surplus workers finish their job first. ' +
      'Instances with the role api run no jobs and cannot be scaled.',
    role: 'admin',
    audited: true,
    body: ScaleRequest,
    ok: ScaleResponse,
    fails: ['INSTANCE_NOT_FOUND'],
  },
  getQueues: {
    tag: 'Bulk',
    summary: 'Get the queue lengths',
    description: 'The queues of the engine now.',
    ok: QueuesBody,
  },
  listAudit: {
    summary: 'List the audit log',
    description:
      'Changes of work and settings over HTTP, newest first, for 90 days. A key that belongs to a tenant sees the changes made with keys of that tenant.',
    role: 'admin',
    tenancy: 'own',
    query: z.strictObject({
      ...pagingBy(z.string().regex(/^\d{1,18}$/, 'must be the cursor of a page')),
      route: storableText(100).optional().describe('The id of a route, such as cancelGroup.'),
      key: storableText(500).optional().describe('The name of a key.'),
    }),
    ok: AuditPage,
  },
});
