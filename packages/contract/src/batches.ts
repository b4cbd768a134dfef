import { z } from 'zod';
import { count, keyText, pageOf, paging, storableText, tenantField, time } from './fields.js';
import { BatchIdParam } from './params.js';
import { defineRoutes, json } from './route.js';

/** The status of a batch. */
export const BatchStatusName = z
  .enum(['RUNNING', 'DONE', 'FAILED', 'ABORTED'])
  .describe('All except RUNNING are final, until a retry makes the batch RUNNING again.');

/** The status of a task of a batch. */
export const BatchTaskStatusName = z
  .enum(['READY', 'PROCESSING', 'DONE', 'FAILED', 'SKIPPED', 'CANCELLED'])
  .describe('READY includes tasks that wait for others: `waiting` tells them apart.');

/** A batch to start. Unknown fields are refused. */
export const StartBatchRequest = z.strictObject({
  dag: storableText(100).describe('The name of a DAG.'),
  bizKey: keyText(500).describe('Names the batch within its tenant and DAG: the same key is the same batch.'),
  payload: z.unknown().optional().describe('Any JSON, passed to every task ({}).'),
  ifEnded: z
    .literal('rerun')
    .optional()
    .describe(
      'Starts another run if the latest one of the key has ended. Without it the latest is returned.',
    ),
  tenant: tenantField,
});

/** A batch without its payload, as in lists. */
export const BatchSummary = z.object({
  id: BatchIdParam,
  tenant: z.string().describe("'' for no tenant."),
  dag: z.string(),
  dagVersion: z.int(),
  bizKey: z.string(),
  runNo: z.int().describe('Number of the run of its business key, from 1.'),
  status: BatchStatusName,
  traceparent: z.string().nullable(),
  taskCount: count,
  openCount: count.describe('Tasks that have not ended. Tasks that ended just now may be included.'),
  schedule: z.string().nullable().describe('The schedule that started it.'),
  createdAt: time,
  updatedAt: time,
  endedAt: time.nullable(),
});
export type BatchSummary = z.infer<typeof BatchSummary>;

/** A batch. */
export const BatchBody = BatchSummary.extend({ payload: z.unknown() });
export type BatchBody = z.infer<typeof BatchBody>;

/** The response to a start. */
export const StartedBatchBody = BatchBody.extend({
  created: z.boolean().describe('false: the key already had this batch.'),
});
export type StartedBatchBody = z.infer<typeof StartedBatchBody>;

/** A task of a batch, without its result. */
export const BatchTaskSummary = z.object({
  id: z.string(),
  key: z.string(),
  handler: z.string().describe('The handler that runs it, as `dag.key`.'),
  mode: z.enum(['transactional', 'external']),
  status: BatchTaskStatusName,
  waiting: z.boolean().describe('True if it is READY and a dependency has not ended.'),
  attempts: count,
  attemptsMax: count,
  lost: count.describe('Leases that expired without a result.'),
  workerId: z.string().nullable(),
  visibleAt: time.describe('READY: earliest start.'),
  leaseUntil: time.nullable(),
  error: z.object({ code: z.string(), message: z.string(), at: z.string() }).nullable(),
  skippedBy: z.enum(['condition', 'cascade']).nullable(),
  addedBy: z.string().nullable().describe('The task that added it while the batch ran.'),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});
export type BatchTaskSummary = z.infer<typeof BatchTaskSummary>;

/** A task of a batch. */
export const BatchTaskBody = BatchTaskSummary.extend({
  result: z.unknown().describe('null unless DONE.'),
});
export type BatchTaskBody = z.infer<typeof BatchTaskBody>;

/** The number of tasks by status. */
export const BatchCounts = z.object({
  waiting: count.describe('READY tasks with a dependency that has not ended.'),
  ready: count,
  processing: count,
  done: count,
  failed: count,
  skipped: count,
  cancelled: count,
});

/** A batch with its tasks and its forecast. */
export const BatchDetailsBody = z.object({
  batch: BatchBody,
  counts: BatchCounts,
  tasks: z
    .array(BatchTaskSummary)
    .describe('The first thousand, in the order of their ids. The list of tasks has all, with results.'),
  edges: z
    .array(z.tuple([z.string(), z.string()]))
    .nullable()
    .describe('[from, to]: the second waits for the first. null if there are too many to draw.'),
  criticalPath: z
    .object({ keys: z.array(z.string()), ms: z.number(), leftMs: z.number() })
    .nullable()
    .describe('The tasks that determine its duration; null if unknown or the batch is too large.'),
  eta: time.nullable().describe('Estimated end with enough workers; null if unknown.'),
});
export type BatchDetailsBody = z.infer<typeof BatchDetailsBody>;

/** A page of batches, newest first. */
export const BatchPage = pageOf(BatchSummary);
export type BatchPage = z.infer<typeof BatchPage>;

/** A page of tasks, in the order of their ids. */
export const BatchTaskPage = pageOf(BatchTaskBody);
export type BatchTaskPage = z.infer<typeof BatchTaskPage>;

/** The defaults of routes of batches, DAGs and schedules. */
export const BATCHES = {
  tag: 'Batches',
  tenancy: 'own',
  fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'],
} as const;

export const BATCH_ROUTES = defineRoutes(BATCHES, {
  startBatch: {
    summary: 'Start a batch',
    description:
      'Starts a run of a DAG with all its tasks, in one transaction. Safe to repeat: a business key has one batch, and a repeat returns it.',
    headers: { traceparent: 'W3C trace context, passed on to the tasks.' },
    body: StartBatchRequest,
    ok: {
      200: json('The key already had this batch', StartedBatchBody),
      201: json('The batch was started', StartedBatchBody),
    },
    fails: ['ID_INVALID', 'PARAMETER_INVALID', 'DAG_NOT_FOUND', 'BATCH_TOO_LARGE'],
  },
  listBatches: {
    summary: 'List batches',
    description:
      'Newest first, without their payloads. A key that belongs to a tenant lists that tenant only.',
    query: z.strictObject({
      dag: storableText(100).optional(),
      bizKey: storableText(500).optional(),
      status: BatchStatusName.optional(),
      tenant: tenantField,
      ...paging,
    }),
    ok: BatchPage,
  },
  getBatch: {
    summary: 'Get a batch',
    description:
      'The batch, its tasks by status, the first thousand tasks, their dependencies, the critical path, and the estimated end.',
    ok: BatchDetailsBody,
  },
  abortBatch: {
    summary: 'Abort a batch',
    description:
      'Ends it now. Tasks that wait are cancelled. Tasks that run are aborted and their writes rolled back. A batch that has ended does not change. Safe to repeat.',
    audited: true,
    ok: BatchBody,
  },
  retryBatch: {
    summary: 'Retry a batch',
    description:
      'Runs the failed and cancelled tasks again, and those skipped because of them. Returns the batch, RUNNING if there was anything to run. Safe to repeat.',
    audited: true,
    ok: BatchBody,
  },
  listBatchTasks: {
    summary: 'List the tasks of a batch',
    description:
      'In the order of their ids, with their results. A page of large results is shorter than its limit.',
    query: z.strictObject({ status: BatchTaskStatusName.optional(), ...paging }),
    ok: BatchTaskPage,
  },
  retryBatchTask: {
    summary: 'Retry a task of a batch',
    description: 'Runs one failed task again, and the tasks that did not run because of it.',
    audited: true,
    ok: BatchBody,
    fails: ['TASK_NOT_RETRYABLE'],
  },
});
