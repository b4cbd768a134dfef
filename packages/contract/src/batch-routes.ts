import { z } from 'zod';
import {
  BatchBody,
  BatchDetailsBody,
  BatchIdParam,
  BatchListQuery,
  BatchPage,
  BatchTaskListQuery,
  BatchTaskPage,
  StartBatchRequest,
  StartedBatchBody,
  TaskKeyParam,
} from './batches.js';
import { defineRoutes, json } from './route.js';

const params = z.object({ batchId: BatchIdParam });

/** Routes of batches. */
export const BATCH_ROUTES = defineRoutes(
  { tag: 'Batches', tenancy: 'own', fails: ['REQUEST_INVALID', 'BACKEND_UNAVAILABLE'] },
  {
    startBatch: {
      summary: 'Start a batch',
      description:
        'Starts a run of a DAG with all its tasks, in one transaction. Safe to repeat: a business key has one batch, and a repeat returns it.',
      role: 'operate',
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
      role: 'read',
      query: BatchListQuery,
      ok: BatchPage,
    },
    getBatch: {
      summary: 'Get a batch',
      description:
        'The batch, its tasks by status, the first thousand tasks, their dependencies, the critical path, and the estimated end.',
      role: 'read',
      params,
      ok: BatchDetailsBody,
      fails: ['BATCH_NOT_FOUND'],
    },
    abortBatch: {
      summary: 'Abort a batch',
      description:
        'Ends it now. Tasks that wait are cancelled. Tasks that run are aborted and their writes rolled back. A batch that has ended does not change. Safe to repeat.',
      role: 'operate',
      audited: true,
      params,
      ok: BatchBody,
      fails: ['BATCH_NOT_FOUND'],
    },
    retryBatch: {
      summary: 'Retry a batch',
      description:
        'Runs the failed and cancelled tasks again, and those skipped because of them. Returns the batch, RUNNING if there was anything to run. Safe to repeat.',
      role: 'operate',
      audited: true,
      params,
      ok: BatchBody,
      fails: ['BATCH_NOT_FOUND'],
    },
    listBatchTasks: {
      summary: 'List the tasks of a batch',
      description:
        'In the order of their ids, with their results. A page of large results is shorter than its limit.',
      role: 'read',
      params,
      query: BatchTaskListQuery,
      ok: BatchTaskPage,
      fails: ['BATCH_NOT_FOUND'],
    },
    retryBatchTask: {
      summary: 'Retry a task of a batch',
      description: 'Runs one failed task again, and the tasks that did not run because of it.',
      role: 'operate',
      audited: true,
      params: params.extend({ taskKey: TaskKeyParam }),
      ok: BatchBody,
      fails: ['BATCH_NOT_FOUND', 'TASK_NOT_FOUND', 'TASK_NOT_RETRYABLE'],
    },
  },
);
