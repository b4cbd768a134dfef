/** Where a task is; drawn in states.ts. READY while it waits for others, too: `waiting` tells the two apart. */
export type OutboxStatus = 'READY' | 'PROCESSING' | 'DONE' | 'FAILED' | 'SKIPPED' | 'CANCELLED';

/** Where a batch is; drawn in states.ts. */
export type BatchStatus = 'RUNNING' | 'DONE' | 'FAILED' | 'ABORTED';

/** Whether a task's effect is part of its own transaction, or somewhere else. */
export type TaskMode = 'transactional' | 'external';

/** When a task may start, seen from what it depends on. */
export type JoinRule = 'all' | 'any' | 'all-done' | { readonly atLeast: number };

/** What the failure of a task means for the rest of its batch. */
export type FailurePolicy = 'fail' | 'skip' | 'continue';

/** One run of a DAG, as lists show it. */
export interface BatchSummary {
  readonly id: string;
  /** '' for none. */
  readonly tenant: string;
  readonly dag: string;
  readonly dagVersion: number;
  readonly bizKey: string;
  /** From 1; counts the runs of one business key. */
  readonly runNo: number;
  readonly status: BatchStatus;
  readonly traceparent: string | undefined;
  readonly taskCount: number;
  /** Tasks not ended yet; what ended in the last moments may still be in it. */
  readonly openCount: number;
  /** The schedule that made it. */
  readonly schedule: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly endedAt: Date | undefined;
}

/** One run of a DAG. */
export interface Batch extends BatchSummary {
  readonly payload: unknown;
}

/** What came of a batch. */
export interface BatchEnding {
  readonly id: string;
  readonly status: BatchStatus;
  /** DONE: what the tasks gave that nobody waits for, by key; undefined when that is too large to be carried. */
  readonly results: Readonly<Record<string, unknown>> | undefined;
  /** FAILED: the task that failed first. */
  readonly failure: { readonly task: string; readonly error: TaskError | undefined } | undefined;
}

/** A failure as it is kept with its task. */
export interface TaskError {
  readonly code: string;
  readonly message: string;
  /** When it happened, ISO 8601. */
  readonly at: string;
}

/** One task of a batch, as people see it, without what it gave. */
export interface TaskSummary {
  readonly id: string;
  readonly batchId: string;
  readonly key: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly status: OutboxStatus;
  /** READY, and something it depends on has still to end. */
  readonly waiting: boolean;
  readonly attempts: number;
  readonly attemptsMax: number;
  /** How often a worker lost it without a result. */
  readonly lost: number;
  readonly workerId: string | undefined;
  /** READY: not before this time. */
  readonly visibleAt: Date;
  readonly leaseUntil: Date | undefined;
  readonly error: TaskError | undefined;
  readonly skippedBy: 'condition' | 'cascade' | undefined;
  /** The task that added it while the batch ran. */
  readonly addedBy: string | undefined;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
}

/** One task of a batch, as people see it. */
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
  /** Whether its handler has a condition. */
  readonly conditional: boolean;
  readonly timeoutMs: number;
  /** Tries in all. */
  readonly attemptsMax: number;
  readonly backoffMs: number;
  /** Keys of what it depends on; undefined in a DAG that has too many edges to list. */
  readonly after: readonly string[] | undefined;
}

/** A stored DAG, in the version that a batch started by its name alone takes. */
export interface DagView {
  readonly name: string;
  readonly version: number;
  /** Whether it was applied as data, and is in force for all instances. */
  readonly applied: boolean;
  readonly registeredAt: Date;
  readonly taskCount: number;
  /** The first thousand, each after what it depends on. */
  readonly tasks: readonly DagTaskView[];
}

/** How many tasks are in which state; READY ones apart by whether they wait for others. */
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

/** Batches of a DAG that start by the clock, one per period. */
export interface Schedule {
  /** '' for none. */
  readonly tenant: string;
  /** Unique within its tenant. */
  readonly name: string;
  readonly dag: string;
  readonly cron: string;
  readonly timeZone: string;
  /** Of its batches. */
  readonly payload: unknown;
  /** Which of the periods that passed while nobody could start them get a batch: the latest one, all, or none. */
  readonly catchUp: 'one' | 'all' | 'none';
  readonly paused: boolean;
  /** The period that comes next; undefined when none ever will. */
  readonly nextAt: Date | undefined;
  /** The latest period that got a batch, and that batch; it may be pruned by now. */
  readonly lastAt: Date | undefined;
  readonly lastBatchId: string | undefined;
  /** How often its batch could not be started since the last one that could, and why. */
  readonly failures: number;
  readonly error: string | undefined;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An instance that runs tasks. */
export interface WorkerView {
  readonly workerId: string;
  readonly dags: readonly string[];
  /** Tasks it runs at once. */
  readonly concurrency: number;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** Whether it was heard of lately. */
  readonly alive: boolean;
}

/** A piece of a listing. */
export interface Page<T> {
  readonly items: readonly T[];
  /** Given to the next call; undefined at the end. */
  readonly cursor: string | undefined;
}
