/**
 * Batches of tasks that depend on each other, on PostgreSQL or PGlite: dependency order, retries, dead letters, and effects that
 * happen exactly once.
 *
 * @packageDocumentation
 */
export type { BatchEndListener } from './batch-listeners.js';
export {
  type BatchDetails,
  Batches,
  type BatchFilter,
  type DeadLetterFilter,
  type TaskFilter,
} from './batches.js';
export { type AppliedDag, type DagFilter, Dags } from './dags.js';
export {
  type AddedTask,
  type BatchOfTask,
  type DagData,
  type DagDefinition,
  type DagTaskData,
  defineDag,
  type ExternalTask,
  type TaskContext,
  type TaskDefinition,
  type TransactionalContext,
  type TransactionalTask,
  task,
} from './define-dag.js';
export { ERRORS } from './errors.js';
export { type OutboxEventMap, OutboxEvents, type TaskResult } from './events.js';
export { migrateOutbox, requireOutboxMigrated } from './migrate.js';
export type {
  BacklogView,
  Batch,
  BatchEnding,
  BatchStatus,
  BatchSummary,
  DagTaskView,
  DagView,
  FailurePolicy,
  JoinRule,
  OutboxStatus,
  Page,
  Schedule,
  TaskCounts,
  TaskError,
  TaskMode,
  TaskSummary,
  TaskView,
  WorkerView,
} from './model.js';
export {
  OUTBOX_DEFAULTS,
  type OutboxOptions,
  poolSizeFor,
  type ResolvedOutboxOptions,
  resolveOutboxOptions,
} from './options.js';
export { Outbox, type OutboxSetup } from './outbox.js';
export { Poller } from './poller.js';
export { Pusher, type StartedBatch, type StartOptions } from './pusher.js';
export { DagRegistry, type TaskHandler } from './registry.js';
export type { CriticalPath } from './rules/critical-path.js';
export { SCHEDULE_CATCH_UP_MAX, SCHEDULE_LATE_MAX_MS } from './rules/schedule.js';
export { type ScheduleFilter, type ScheduleInput, type ScheduleKey, Schedules } from './schedules.js';
export { BATCH_MOVES, TASK_MOVES } from './states.js';
export { type HorizonHolder, type OldestTransaction, VacuumWatch } from './vacuum-watch.js';
