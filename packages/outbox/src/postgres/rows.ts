import type {
  Batch,
  BatchStatus,
  BatchSummary,
  OutboxStatus,
  TaskError,
  TaskMode,
  TaskSummary,
  TaskView,
} from '../model.js';

/** A row of batch_instance without its payload. */
export interface BatchSummaryRow {
  readonly id: string;
  readonly tenant: string;
  readonly dag: string;
  readonly dag_version: number;
  readonly biz_key: string;
  readonly run_no: number;
  readonly status: BatchStatus;
  readonly traceparent: string | null;
  readonly task_cnt: number;
  readonly open_cnt: number;
  readonly schedule: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly ended_at: Date | null;
}

/** A row of batch_instance. */
export interface BatchRow extends BatchSummaryRow {
  readonly payload: unknown;
}

/** A row of outbox_evt without its result. */
export interface TaskSummaryRow {
  readonly id: string;
  readonly batch_id: string;
  readonly task_key: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly status: OutboxStatus;
  readonly pre_cnt: number;
  readonly attempts: number;
  readonly max_attempts: number;
  readonly lost_cnt: number;
  readonly worker_id: string | null;
  readonly visible_at: Date;
  readonly lease_until: Date | null;
  readonly error: TaskError | null;
  readonly skipped_by: 'condition' | 'cascade' | null;
  readonly added_by: string | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
}

/** A row of outbox_evt. */
export interface TaskRow extends TaskSummaryRow {
  readonly result: unknown;
}

/** Converts the row of a batch. */
export const toBatch = (row: BatchRow): Batch => ({ ...toBatchSummary(row), payload: row.payload });

/** Converts the row of a batch without its payload. */
export function toBatchSummary(row: BatchSummaryRow): BatchSummary {
  return {
    id: row.id,
    tenant: row.tenant,
    dag: row.dag,
    dagVersion: row.dag_version,
    bizKey: row.biz_key,
    runNo: row.run_no,
    status: row.status,
    traceparent: row.traceparent ?? undefined,
    taskCount: row.task_cnt,
    openCount: row.open_cnt,
    schedule: row.schedule ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    endedAt: row.ended_at ?? undefined,
  };
}

/** Converts the row of a task. */
export const toTaskView = (row: TaskRow): TaskView => ({
  ...toTaskSummary(row),
  result: row.result ?? undefined,
});

/** Converts the row of a task without its result. */
export function toTaskSummary(row: TaskSummaryRow): TaskSummary {
  return {
    id: row.id,
    batchId: row.batch_id,
    key: row.task_key,
    handler: row.handler,
    mode: row.mode,
    status: row.status,
    waiting: row.status === 'READY' && row.pre_cnt > 0,
    attempts: row.attempts,
    attemptsMax: row.max_attempts,
    lost: row.lost_cnt,
    workerId: row.worker_id ?? undefined,
    visibleAt: row.visible_at,
    leaseUntil: row.lease_until ?? undefined,
    error: row.error ?? undefined,
    skippedBy: row.skipped_by ?? undefined,
    addedBy: row.added_by ?? undefined,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}
