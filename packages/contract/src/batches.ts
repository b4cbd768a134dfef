import { z } from 'zod';
import { count, keyText, pageOf, paging, storableText, tenantField, time } from './fields.js';

/** The id of a batch. */
export const BatchIdParam = z
  .string()
  .regex(/^\d{1,18}$/, 'must be the id of a batch')
  .describe('The id of a batch, a number as text.');

/** The key of a task. */
export const TaskKeyParam = storableText(200).describe('The key of a task within its batch.');

/** Where a batch is. */
export const BatchStatusName = z
  .enum(['RUNNING', 'DONE', 'FAILED', 'ABORTED'])
  .describe('All but RUNNING are ends; a retry makes a batch RUNNING again.');
/** Where a batch is. */
export type BatchStatusName = z.infer<typeof BatchStatusName>;

/** Where a task of a batch is. */
export const BatchTaskStatusName = z
  .enum(['READY', 'PROCESSING', 'DONE', 'FAILED', 'SKIPPED', 'CANCELLED'])
  .describe('READY also while it waits for others: `waiting` tells the two apart.');
/** Where a task of a batch is. */
export type BatchTaskStatusName = z.infer<typeof BatchTaskStatusName>;

/** A batch to start. Unknown fields are refused. */
export const StartBatchRequest = z.strictObject({
  dag: storableText(100).describe('The name of a DAG.'),
  bizKey: keyText(500).describe('Names the batch within its tenant and DAG: the same key is the same batch.'),
  payload: z.unknown().optional().describe('Anything JSON can carry, given to every task; {} unless given.'),
  ifEnded: z
    .literal('rerun')
    .optional()
    .describe('Another run when the latest one of the key has ended; without it the latest is answered.'),
  tenant: tenantField,
});
/** A batch to start. */
export type StartBatchRequest = z.infer<typeof StartBatchRequest>;

/** A batch as lists show it: without its payload. */
export const BatchSummary = z.object({
  id: BatchIdParam,
  tenant: z.string().describe("'' for none."),
  dag: z.string(),
  dagVersion: z.int(),
  bizKey: z.string(),
  runNo: z.int().describe('From 1; counts the runs of one business key.'),
  status: BatchStatusName,
  traceparent: z.string().nullable(),
  taskCount: count,
  openCount: count.describe('Tasks that have not ended; what ended in the last moments may still be in it.'),
  schedule: z.string().nullable().describe('The schedule that made it.'),
  createdAt: time,
  updatedAt: time,
  endedAt: time.nullable(),
});
/** A batch as lists show it: without its payload. */
export type BatchSummary = z.infer<typeof BatchSummary>;

/** A batch. */
export const BatchBody = BatchSummary.extend({ payload: z.unknown() });
/** A batch. */
export type BatchBody = z.infer<typeof BatchBody>;

/** The answer to a start. */
export const StartedBatchBody = BatchBody.extend({
  created: z.boolean().describe('false: its key had a batch already, and this is it.'),
});
/** The answer to a start. */
export type StartedBatchBody = z.infer<typeof StartedBatchBody>;

/** A task of a batch, without its result. */
export const BatchTaskSummary = z.object({
  id: z.string(),
  key: z.string(),
  handler: z.string().describe('`dag.key` of what runs it.'),
  mode: z.enum(['transactional', 'external']),
  status: BatchTaskStatusName,
  waiting: z.boolean().describe('READY, and something it depends on has still to end.'),
  attempts: count,
  attemptsMax: count,
  lost: count.describe('How often a worker lost it without a result.'),
  workerId: z.string().nullable(),
  visibleAt: time.describe('READY: not before this time.'),
  leaseUntil: time.nullable(),
  error: z.object({ code: z.string(), message: z.string(), at: z.string() }).nullable(),
  skippedBy: z.enum(['condition', 'cascade']).nullable(),
  addedBy: z.string().nullable().describe('The task that added it while the batch ran.'),
  startedAt: time.nullable(),
  endedAt: time.nullable(),
});
/** A task of a batch, without its result. */
export type BatchTaskSummary = z.infer<typeof BatchTaskSummary>;

/** A task of a batch. */
export const BatchTaskBody = BatchTaskSummary.extend({
  result: z.unknown().describe('What it gave; null unless DONE.'),
});
/** A task of a batch. */
export type BatchTaskBody = z.infer<typeof BatchTaskBody>;

/** How many tasks are in which state. */
export const BatchCounts = z.object({
  waiting: count.describe('READY, and something they depend on has still to end.'),
  ready: count,
  processing: count,
  done: count,
  failed: count,
  skipped: count,
  cancelled: count,
});

/** A batch with what people want to know of it. */
export const BatchDetailsBody = z.object({
  batch: BatchBody,
  counts: BatchCounts,
  tasks: z
    .array(BatchTaskSummary)
    .describe('The first thousand, in the order of their ids; the list of tasks has all, with results.'),
  edges: z
    .array(z.tuple([z.string(), z.string()]))
    .nullable()
    .describe('[from, to]: the second waits for the first. null: there are too many to draw.'),
  criticalPath: z
    .object({ keys: z.array(z.string()), ms: z.number(), leftMs: z.number() })
    .nullable()
    .describe(
      'The tasks that determine how long it takes; null: nothing is known, or it is too large to ask.',
    ),
  eta: time.nullable().describe('When it will have ended, with enough workers; null: nobody can say.'),
});
/** A batch with what people want to know of it. */
export type BatchDetailsBody = z.infer<typeof BatchDetailsBody>;

/** What the list of batches may be asked. Unknown parameters are refused. */
export const BatchListQuery = z.strictObject({
  dag: storableText(100).optional(),
  bizKey: storableText(500).optional(),
  status: BatchStatusName.optional(),
  tenant: tenantField,
  ...paging,
});

/** What the list of a batch's tasks may be asked. Unknown parameters are refused. */
export const BatchTaskListQuery = z.strictObject({ status: BatchTaskStatusName.optional(), ...paging });

/** A part of the list of batches, newest first. */
export const BatchPage = pageOf(BatchSummary);
/** A part of the list of batches, newest first. */
export type BatchPage = z.infer<typeof BatchPage>;

/** A part of the list of a batch's tasks, in the order of their ids. */
export const BatchTaskPage = pageOf(BatchTaskBody);
/** A part of the list of a batch's tasks, in the order of their ids. */
export type BatchTaskPage = z.infer<typeof BatchTaskPage>;
