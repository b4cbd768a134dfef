import type { TaskResult } from '../events.js';
import type { BatchStatus, TaskCounts } from '../model.js';

/** Names and help texts. */
export const METRICS = {
  backlog: {
    name: 'outbox_backlog',
    help: 'Tasks of running batches by state, those that wait for others apart from those that can run; failed: every dead letter.',
  },
  oldestReadyAge: {
    name: 'outbox_oldest_ready_age_ms',
    help: 'How long the task that can run has been able to that has waited longest, in milliseconds; 0 when there is none.',
  },
  oldestTransactionAge: {
    name: 'outbox_oldest_transaction_age_ms',
    help: 'Age of the oldest transaction that keeps PostgreSQL from removing dead rows, in milliseconds; 0 when there is none.',
  },
  taskDuration: {
    name: 'outbox_task_duration_ms',
    help: 'How long tries took that this process ran and whose end was written, in milliseconds.',
  },
  tasks: { name: 'outbox_task_total', help: 'Tries of tasks that this process ran, by what came of them.' },
  batches: { name: 'outbox_batch_total', help: 'Batches whose end this process wrote, by how they ended.' },
  leasesExpired: {
    name: 'outbox_lease_expired_total',
    help: 'Tasks that this process took from workers that fell silent.',
  },
} as const;

/** The states of `outbox_backlog`. */
export const BACKLOG_STATES = Object.keys({
  waiting: 0,
  ready: 0,
  processing: 0,
  done: 0,
  failed: 0,
  skipped: 0,
  cancelled: 0,
} satisfies Record<keyof TaskCounts, 0>) as (keyof TaskCounts)[];

/** What can come of a try, and whether its handler ran to an end that was written: only that has a duration. */
export const TASK_RESULTS: Readonly<Record<TaskResult, { readonly timed: boolean }>> = {
  done: { timed: true },
  retried: { timed: true },
  failed: { timed: true },
  skipped: { timed: false },
  lost: { timed: false },
  returned: { timed: false },
};

/** How a batch can end. */
export const BATCH_ENDS = ['DONE', 'FAILED', 'ABORTED'] as const satisfies readonly BatchStatus[];

/** As a label, in the manner of the others. */
export const statusLabel = (status: BatchStatus): string => status.toLowerCase();

/** From one millisecond to 70 minutes, each twice the one before: those of bulk-action, so that the two can be compared. */
export const DURATION_BUCKETS_MS: readonly number[] = Array.from({ length: 23 }, (_, power) => 2 ** power);
