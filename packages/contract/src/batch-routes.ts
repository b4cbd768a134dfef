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
import { defineRoute, INVALID, json, problems, UNAVAILABLE } from './route.js';

const tag = 'Batches';
const NOT_FOUND = 'BATCH_NOT_FOUND: there is none of this id, or it is another tenant’s.';
const params = z.object({ batchId: BatchIdParam });

/** Everything that can be asked about batches. */
export const BATCH_ROUTES = {
  startBatch: defineRoute('startBatch', {
    tag,
    summary: 'Start a batch',
    description:
      'Starts a run of a DAG with all its tasks, in one transaction. May be repeated: a business key has one batch, which is answered when it is there already.',
    role: 'operate',
    tenancy: 'own',
    headers: { traceparent: 'W3C trace context; it travels with the work.' },
    body: StartBatchRequest,
    answers: {
      200: json('The key had a batch already: this one.', StartedBatchBody),
      201: json('It was started.', StartedBatchBody),
      ...problems({
        400: `${INVALID} ID_INVALID, PARAMETER_INVALID: a text that cannot be stored.`,
        404: 'DAG_NOT_FOUND: there is no DAG of this name.',
        413: 'BATCH_TOO_LARGE: the payload is larger than a batch may carry.',
        503: UNAVAILABLE,
      }),
    },
  }),
  listBatches: defineRoute('listBatches', {
    tag,
    summary: 'List batches',
    description: 'Newest first, filtered, without their payloads; the caller’s tenant only.',
    role: 'read',
    tenancy: 'own',
    query: BatchListQuery,
    answers: { 200: json('A page.', BatchPage), ...problems({ 400: INVALID, 503: UNAVAILABLE }) },
  }),
  getBatch: defineRoute('getBatch', {
    tag,
    summary: 'Look at a batch',
    description:
      'The batch, how many of its tasks are in which state, the first thousand of them, who waits for whom, what determines how long it takes, and when it will have ended.',
    role: 'read',
    tenancy: 'own',
    params,
    answers: {
      200: json('The batch.', BatchDetailsBody),
      ...problems({ 400: INVALID, 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
  abortBatch: defineRoute('abortBatch', {
    tag,
    summary: 'Abort a batch',
    description:
      'Ends it now: what waits is cancelled, what runs is told so and has its writes rolled back. One that has ended stays as it is. May be repeated.',
    role: 'operate',
    tenancy: 'own',
    audited: true,
    params,
    answers: {
      200: json('The batch after it.', BatchBody),
      ...problems({ 400: INVALID, 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
  retryBatch: defineRoute('retryBatch', {
    tag,
    summary: 'Retry a batch',
    description:
      'Runs again what failed, was cancelled, or was skipped because of others; what is done stays done. May be repeated.',
    role: 'operate',
    tenancy: 'own',
    audited: true,
    params,
    answers: {
      200: json('The batch after it, RUNNING if there was anything to run again.', BatchBody),
      ...problems({ 400: INVALID, 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
  listBatchTasks: defineRoute('listBatchTasks', {
    tag,
    summary: 'List the tasks of a batch',
    description:
      'In the order of their ids, with their results, filtered by state. A page of large results is shorter than its limit.',
    role: 'read',
    tenancy: 'own',
    params,
    query: BatchTaskListQuery,
    answers: {
      200: json('A page.', BatchTaskPage),
      ...problems({ 400: INVALID, 404: NOT_FOUND, 503: UNAVAILABLE }),
    },
  }),
  retryBatchTask: defineRoute('retryBatchTask', {
    tag,
    summary: 'Retry a task of a batch',
    description: 'Runs one failed task again, and with it what did not run because of it.',
    role: 'operate',
    tenancy: 'own',
    audited: true,
    params: params.extend({ taskKey: TaskKeyParam }),
    answers: {
      200: json('The batch after it.', BatchBody),
      ...problems({
        400: INVALID,
        404: `${NOT_FOUND} TASK_NOT_FOUND: the batch has no task of this key.`,
        409: 'TASK_NOT_RETRYABLE: only a FAILED task can be retried.',
        503: UNAVAILABLE,
      }),
    },
  }),
} as const;
