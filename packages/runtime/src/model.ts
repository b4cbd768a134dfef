/** One entry of a queue. */
export interface QueueItem<T> {
  /** Unique in its queue. */
  readonly id: string;
  readonly payload: T;
  /** When it was put, by the clock of the store that holds it. */
  readonly createdAt: Date;
}

/** A task of the TaskManager as its callers see it; a snapshot, never changed after it was given out. */
export interface TaskView {
  readonly id: string;
  /** The lane: tasks of one key run one after the other, in the order they were accepted. */
  readonly key: string;
  readonly status: TaskStatus;
  readonly queuedAt: Date;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
}

/**
 * Where a task is.
 *
 * ```
 *   QUEUED ──▶ RUNNING ──first non-empty chunk──▶ STREAMING ──▶ COMPLETED
 *     │           │                                  │
 *     │           ├──────────── returns ─────────────┼─▶ COMPLETED
 *     │           ├──────────── throws ──────────────┼─▶ FAILED
 *     ├─ its deadline has passed ────────────────────│─▶ FAILED
 *     └───────────┴──────────── cancel ──────────────┴─▶ CANCELLED
 * ```
 */
export type TaskStatus = 'QUEUED' | 'RUNNING' | 'STREAMING' | 'COMPLETED' | 'FAILED' | 'CANCELLED';

/** One event of a task's stream. Offsets count events from 0, which is always `start`. */
export type StreamEvent =
  | { readonly offset: number; readonly type: 'start' }
  /** `snapshot` marks text that stands for everything up to this offset: its reader came too late for the parts. */
  | { readonly offset: number; readonly type: 'token'; readonly text: string; readonly snapshot?: true }
  | { readonly offset: number; readonly type: 'error'; readonly code: string; readonly message: string }
  | { readonly offset: number; readonly type: 'done' };
