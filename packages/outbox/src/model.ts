/** The state of a task, drawn in states.ts. A blocked task is READY too: `waiting` distinguishes it. */
export type OutboxStatus = 'READY' | 'PROCESSING' | 'DONE' | 'FAILED' | 'SKIPPED' | 'CANCELLED';

/** The state of a batch, drawn in states.ts. */
export type BatchStatus = 'RUNNING' | 'DONE' | 'FAILED' | 'ABORTED';

/** `transactional`: the effect of a task is part of its own transaction. `external`: it is elsewhere. */
export type TaskMode = 'transactional' | 'external';

/** The ends of its parents that a task waits for. */
export type JoinRule = 'all' | 'any' | 'all-done' | { readonly atLeast: number };

/** The effect of a failed task on the rest of its batch. */
export type FailurePolicy = 'fail' | 'skip' | 'continue';

/** One run of a DAG without its payload. */
export interface BatchSummary {
  readonly id: string;
  /** '' for none. */
  readonly tenant: string;
  readonly dag: string;
  readonly dagVersion: number;
  readonly bizKey: string;
  /** Number of the run of its business key, from 1. */
  readonly runNo: number;
  readonly status: BatchStatus;
  readonly traceparent: string | undefined;
  readonly taskCount: number;
  /** Number of tasks that have not ended. Tasks that ended a moment ago may still be included. */
  readonly openCount: number;
  /** Name of the schedule that started it. */
  readonly schedule: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly endedAt: Date | undefined;
}

/** One run of a DAG. */
export interface Batch extends BatchSummary {
  readonly payload: unknown;
}

/** The results or the failure of a batch. */
export interface BatchEnding {
  readonly id: string;
  readonly status: BatchStatus;
  /** If DONE: results of the tasks without successors, by key. undefined if they are too large. */
  readonly results: Readonly<Record<string, unknown>> | undefined;
  /** If FAILED: the task that failed first. */
  readonly failure: { readonly task: string; readonly error: TaskError | undefined } | undefined;
}

/** The stored failure of a task. */
export interface TaskError {
  readonly code: string;
  readonly message: string;
  /** Time, ISO 8601. */
  readonly at: string;
}

/** One task of a batch without its result. */
export interface TaskSummary {
  readonly id: string;
  readonly batchId: string;
  readonly key: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly status: OutboxStatus;
  /** True if it is READY but has to wait for parents. */
  readonly waiting: boolean;
  readonly attempts: number;
  readonly attemptsMax: number;
  /** Number of attempts lost with their worker or connection. */
  readonly lost: number;
  readonly workerId: string | undefined;
  /** If READY: earliest time of its start. */
  readonly visibleAt: Date;
  readonly leaseUntil: Date | undefined;
  readonly error: TaskError | undefined;
  readonly skippedBy: 'condition' | 'cascade' | undefined;
  /** Key of the task that added it while the batch ran. */
  readonly addedBy: string | undefined;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
}

/** One task of a batch. */
export interface TaskView extends TaskSummary {
  readonly result: unknown;
}

/** One step of a stored DAG. */
export interface DagTaskView {
  readonly key: string;
  /** `dag.key` of the handler that runs it. */
  readonly handler: string;
  readonly mode: TaskMode;
  readonly join: JoinRule;
  readonly onFailure: FailurePolicy;
  /** True if its handler has a condition. */
  readonly conditional: boolean;
  readonly timeoutMs: number;
  /** Maximum number of attempts. */
  readonly attemptsMax: number;
  readonly backoffMs: number;
  /** Keys of its parents. undefined in a DAG that has too many edges to list. */
  readonly after: readonly string[] | undefined;
}

/** A stored DAG, in the version that a new batch takes. */
export interface DagView {
  readonly name: string;
  readonly version: number;
  /** True if it was applied as data and is in force for all instances. */
  readonly applied: boolean;
  readonly registeredAt: Date;
  readonly taskCount: number;
  /** The first 1,000 tasks, each after its parents. */
  readonly tasks: readonly DagTaskView[];
}

/** Number of tasks by state. READY tasks that are blocked count as waiting. */
export interface TaskCounts {
  readonly waiting: number;
  readonly ready: number;
  readonly processing: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly cancelled: number;
}

/** The backlog, and how long the oldest task has been able to run. */
export interface BacklogView extends TaskCounts {
  readonly oldestReadyAgeMs: number | undefined;
}

/** Starts batches of a DAG by the clock, one per period. */
export interface Schedule {
  /** '' for none. */
  readonly tenant: string;
  /** Unique within its tenant. */
  readonly name: string;
  readonly dag: string;
  readonly cron: string;
  readonly timeZone: string;
  /** Payload of its batches. */
  readonly payload: unknown;
  /** Periods passed while no instance ran that still get a batch: the latest `one`, `all` or `none`. */
  readonly catchUp: 'one' | 'all' | 'none';
  readonly paused: boolean;
  /** The next period. undefined if there is none. */
  readonly nextAt: Date | undefined;
  /** The latest period that got a batch. The batch may have been pruned since. */
  readonly lastAt: Date | undefined;
  readonly lastBatchId: string | undefined;
  /** Number of failed starts since the last successful one, with the last error. */
  readonly failures: number;
  readonly error: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An instance that runs tasks. */
export interface WorkerView {
  readonly workerId: string;
  readonly dags: readonly string[];
  /** Maximum number of tasks it runs at once. */
  readonly concurrency: number;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** True if it has reported within 30 s. */
  readonly alive: boolean;
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Pass it to the next call. undefined at the end. */
  readonly cursor: string | undefined;
}
