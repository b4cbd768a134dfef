import type {
  BatchBody,
  BatchDetailsBody,
  BatchSummary,
  BatchTaskBody,
  BatchTaskSummary,
  DagBody,
  ScheduleBody,
} from '@millrace/contract';
import type {
  Batch,
  BatchDetails,
  DagView,
  BatchSummary as ListedBatch,
  Schedule,
  TaskSummary,
  TaskView,
} from '@millrace/outbox';
import { toIsoOrNull } from '../http/bodies.js';

/** A batch as lists show it. */
export const batchSummary = (batch: ListedBatch): BatchSummary => ({
  id: batch.id,
  tenant: batch.tenant,
  dag: batch.dag,
  dagVersion: batch.dagVersion,
  bizKey: batch.bizKey,
  runNo: batch.runNo,
  status: batch.status,
  traceparent: batch.traceparent ?? null,
  taskCount: batch.taskCount,
  openCount: batch.openCount,
  schedule: batch.schedule ?? null,
  createdAt: batch.createdAt.toISOString(),
  updatedAt: batch.updatedAt.toISOString(),
  endedAt: toIsoOrNull(batch.endedAt),
});

/** A batch with its payload. */
export const batchBody = (batch: Batch): BatchBody => ({ ...batchSummary(batch), payload: batch.payload });

/** A task without its result. */
const taskSummary = (task: TaskSummary): BatchTaskSummary => ({
  id: task.id,
  key: task.key,
  handler: task.handler,
  mode: task.mode,
  status: task.status,
  waiting: task.waiting,
  attempts: task.attempts,
  attemptsMax: task.attemptsMax,
  lost: task.lost,
  workerId: task.workerId ?? null,
  visibleAt: task.visibleAt.toISOString(),
  leaseUntil: toIsoOrNull(task.leaseUntil),
  error: task.error ?? null,
  skippedBy: task.skippedBy ?? null,
  addedBy: task.addedBy ?? null,
  startedAt: toIsoOrNull(task.startedAt),
  endedAt: toIsoOrNull(task.endedAt),
});

/** A task with its result. */
export const taskBody = (task: TaskView): BatchTaskBody => ({
  ...taskSummary(task),
  result: task.result ?? null,
});

/** A batch with what people want to know of it. */
export const batchDetailsBody = (details: BatchDetails): BatchDetailsBody => ({
  batch: batchBody(details.batch),
  counts: details.counts,
  tasks: details.tasks.map(taskSummary),
  edges: details.edges?.map(([from, to]) => [from, to]) ?? null,
  criticalPath: details.criticalPath
    ? { ...details.criticalPath, keys: [...details.criticalPath.keys] }
    : null,
  eta: toIsoOrNull(details.eta),
});

/** A stored DAG. */
export const dagBody = (dag: DagView): DagBody => ({
  name: dag.name,
  version: dag.version,
  applied: dag.applied,
  registeredAt: dag.registeredAt.toISOString(),
  taskCount: dag.taskCount,
  tasks: dag.tasks.map(({ after, ...task }) => ({ ...task, after: after ? [...after] : null })),
});

/** A schedule. */
export const scheduleBody = (schedule: Schedule): ScheduleBody => ({
  tenant: schedule.tenant,
  name: schedule.name,
  dag: schedule.dag,
  cron: schedule.cron,
  timeZone: schedule.timeZone,
  payload: schedule.payload,
  catchUp: schedule.catchUp,
  paused: schedule.paused,
  nextAt: toIsoOrNull(schedule.nextAt),
  lastAt: toIsoOrNull(schedule.lastAt),
  lastBatchId: schedule.lastBatchId ?? null,
  failures: schedule.failures,
  error: schedule.error ?? null,
  createdAt: schedule.createdAt.toISOString(),
  updatedAt: schedule.updatedAt.toISOString(),
});
