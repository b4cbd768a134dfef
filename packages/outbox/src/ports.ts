import type { Queryable, Tx } from '@millrace/postgres';
import type {
  BacklogView,
  Batch,
  BatchEnding,
  BatchStatus,
  BatchSummary,
  FailurePolicy,
  OutboxStatus,
  TaskCounts,
  TaskError,
  TaskMode,
  TaskSummary,
  TaskView,
} from './model.js';
import type { BatchState, ReopenedTask } from './rules/reopen.js';
import type { TaskTimes } from './rules/task-times.js';

// Storage that several parts of the core need. What only one part needs stands beside that part. `postgres/` implements
// it all. A method that takes a `tx` is one step of that transaction.

// ── Tasks ────────────────────────────────────────────────────────────────────────────────────────────────────

/** A task that this worker has claimed, with the input of its handler. */
export interface ClaimedTask {
  readonly id: string;
  /** Unique over all claims. */
  readonly claimId: string;
  readonly batchId: string;
  readonly taskKey: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly onFailure: FailurePolicy;
  /** From 1. */
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly timeoutMs: number;
  readonly lost: number;
  readonly tenant: string;
  readonly dag: string;
  readonly bizKey: string;
  readonly runNo: number;
  readonly traceparent: string | null;
  readonly payload: unknown;
  /** null for a root. */
  readonly inputs: Readonly<Record<string, unknown>> | null;
}

/** A failure to store. The database adds the time. */
export type Failure = Omit<TaskError, 'at'>;

/** The end of a task. */
export interface TaskEnd {
  readonly id: string;
  /** undefined for a blocked task that can no longer start. */
  readonly claimId: string | undefined;
  readonly status: Extract<OutboxStatus, 'DONE' | 'FAILED' | 'SKIPPED'>;
  /** JSON text. */
  readonly result?: string | undefined;
  readonly error?: Failure | undefined;
  /** What its successors see; nothing when they are cancelled. */
  readonly seenAs: 'success' | 'end' | 'nothing';
}

/** The effects of ending tasks. */
export interface EndedTasks {
  /** Ids of the tasks whose claim held. */
  readonly ended: ReadonlySet<string>;
  /** Number of other tasks that can run now. */
  readonly ready: number;
  /** Ids of blocked tasks that can no longer start. */
  readonly skip: readonly string[];
}

/** A task that another one adds to its batch. */
export interface NewTask {
  readonly key: string;
  readonly handler: {
    readonly name: string;
    readonly dag: string;
    readonly mode: TaskMode;
    readonly onFailure: FailurePolicy;
    readonly attemptsMax: number;
    readonly timeoutMs: number;
  };
  /** JSON text. `null` stands for the payload of the batch. */
  readonly payload: string;
  /** Keys of the successors that wait for it. */
  readonly before: readonly string[];
}

/** A claim to release. */
export interface TaskReturn {
  readonly id: string;
  readonly claimId: string;
  readonly batchId: string;
  readonly delayMs: number;
  /** True if this attempt does not count. */
  readonly attemptReturned: boolean;
  /** True if it counts as lost. */
  readonly lost: boolean;
  readonly error?: Failure | undefined;
}

/** A claim whose lease has expired. */
export type ExpiredTask = Pick<
  ClaimedTask,
  'id' | 'claimId' | 'batchId' | 'taskKey' | 'handler' | 'lost' | 'onFailure' | 'traceparent'
>;

/** The worker that claims, and what it can run. */
export interface Claimer {
  readonly dags: readonly string[];
  readonly versions: readonly number[];
  readonly workerId: string;
  readonly leaseMs: number;
}

/** A claim that read all entries. */
export interface FullLook {
  readonly dags: readonly string[];
  /** Ids of the tasks it took. */
  readonly ids: readonly string[];
  /** Time since it began. */
  readonly agoMs: number;
  /** True if it left nothing. */
  readonly tookAll: boolean;
}

/** Single tasks. Every change of a claimed task names its claim. */
export interface TaskStore {
  /**
   * Claims up to `limit` tasks that can run now.
   * @param heads - position by DAG where to start reading. A DAG without one is read from its first entry.
   */
  claim(
    claimer: Claimer,
    limit: number,
    heads?: ReadonlyMap<string, number>,
  ): Promise<readonly ClaimedTask[]>;
  /** Finds the positions from which the next claims have to read. */
  heads(look: FullLook): Promise<ReadonlyMap<string, number>>;
  /**
   * Ends tasks whose claims hold.
   * @param source - the handler's own transaction, or the database.
   * @param ends - at least one.
   */
  end(source: Queryable, ends: readonly TaskEnd[]): Promise<EndedTasks>;
  /**
   * Ends a task and commits the transaction of its handler, in one round trip.
   * @returns the number of other tasks that can run now; undefined if it has committed and the number is not known.
   * @throws MillraceError `CLAIM_LOST`: everything has been rolled back; those of a COMMIT.
   */
  endAndCommit(tx: Tx, end: TaskEnd): Promise<number | undefined>;
  /**
   * Adds tasks to the batch of a claimed one.
   * @param added - at least one.
   * @throws MillraceError `TASKS_INVALID`, `BATCH_TOO_LARGE`.
   */
  add(tx: Tx, by: ClaimedTask, added: readonly NewTask[], tasksMax: number): Promise<void>;
  /** Reads the first retry delay from the definition; undefined for a task that was added to its batch. */
  backoffMs(id: string): Promise<number | undefined>;
  /** Finds the ids whose claim ended as DONE, after the reply to `end` was lost. */
  doneBefore(ends: readonly TaskEnd[]): Promise<ReadonlySet<string>>;
  /** Locks a task and all open tasks behind it, before an end that skips them. */
  lockDescendants(tx: Tx, id: string): Promise<void>;
  /** Locks a task and all tasks of its batch that have not started, before it fails the batch. */
  lockReady(tx: Tx, task: ExpiredTask): Promise<void>;
  /**
   * Ends blocked tasks that can no longer start, and those that then cannot either.
   * @param first - ids from `end` or a fold.
   * @returns the number of other tasks that can run now.
   */
  skip(tx: Tx, first: readonly string[]): Promise<number>;
  /**
   * Releases claims that still hold.
   * @param returns - at least one.
   * @param options - `expired`: only those whose lease has expired.
   * @returns the ids that are READY again, and those that were cancelled because their batch is failing.
   */
  giveBack(
    returns: readonly TaskReturn[],
    options?: { readonly expired?: boolean },
  ): Promise<{ readonly ready: ReadonlySet<string>; readonly cancelled: ReadonlySet<string> }>;
  /** Lets nothing more start in a batch. */
  failBatch(tx: Tx, batchId: string): Promise<void>;
  /** Extends leases. Returns the ids whose claim is lost. */
  extend(
    claims: readonly { readonly id: string; readonly claimId: string }[],
    leaseMs: number,
  ): Promise<ReadonlySet<string>>;
  /**
   * Finds claims whose lease has expired.
   * @param who - `passOver`: prefix of the ids of workers that are alive whatever their leases say; `othersAreDead`: true if
   * all other workers are dead.
   */
  expired(
    who: { readonly passOver?: string | undefined; readonly othersAreDead: boolean },
    limit: number,
  ): Promise<readonly ExpiredTask[]>;
  /** Locks a task whose lease has expired. Returns false if its worker has extended it since. */
  lockExpired(tx: Tx, task: ExpiredTask, isDead: boolean): Promise<boolean>;
  /** Deletes notes of claims whose tasks have ended. Returns true if more may be due. */
  tidyLeases(notesMax: number): Promise<boolean>;
  /** Brings leases and delays back that a clock jump has put out of reach. Returns their number. */
  clampTimes(dags: readonly string[], aheadMs: number): Promise<number>;
}

// ── Batches ──────────────────────────────────────────────────────────────────────────────────────────────────

/** A batch to start. */
export interface NewBatch {
  readonly tenant: string;
  readonly dag: string;
  /** Version of the instance's own code (the last one registered). An applied DAG in force takes precedence. */
  readonly version: number | undefined;
  readonly bizKey: string;
  /** JSON text. */
  readonly payload: string;
  readonly traceparent: string | undefined;
  readonly rerun: boolean;
  readonly schedule: string | undefined;
}

/** A locked batch and its tasks. */
export interface LockedBatch {
  readonly state: BatchState;
  readonly idOf: ReadonlyMap<string, string>;
}

/** Whole batches. */
export interface BatchStore {
  /**
   * Starts a batch unless its key has one.
   * @param tx - the caller's own transaction. Other instances are notified when it commits.
   * @param timeoutMs - for a batch of very many tasks; without a tx.
   */
  start(batch: NewBatch, tx?: Tx, timeoutMs?: number): Promise<Batch | undefined>;
  /** Finds the latest run of a business key. */
  find(
    key: { readonly tenant: string; readonly dag: string; readonly bizKey: string },
    source?: Queryable,
  ): Promise<Batch | undefined>;
  get(id: string): Promise<Batch | undefined>;
  /** Reports whether any version of a DAG is stored. */
  hasDag(name: string, source?: Queryable): Promise<boolean>;
  /** Takes the lock under which a batch is aborted, retried or failed. */
  lock(tx: Tx, id: string): Promise<Batch | undefined>;
  /** Cancels the open tasks of a locked batch and ends it. */
  abort(tx: Tx, id: string): Promise<Batch>;
  /** Stores with ended batches the number of their tasks by state. Returns the batches. */
  countTasks(tx: Tx, ids: readonly string[]): Promise<Batch[]>;
  /** Locks every task of a locked batch, and reads what a retry depends on. */
  lockTasks(tx: Tx, batch: Batch): Promise<LockedBatch>;
  /** Stores the decisions of a retry, and lets the batch run again. */
  reopen(
    tx: Tx,
    batch: Batch,
    decided: {
      readonly tasks: readonly ReopenedTask[];
      readonly failing: boolean;
      readonly idOf: LockedBatch['idOf'];
    },
  ): Promise<Batch>;
}

/** Batches and tasks to show. Changes nothing. */
export interface ViewStore {
  /** Lists tasks of a batch with their results, as many as fit; `isCut` if fewer than requested. */
  tasks(
    batchId: string,
    page: {
      readonly after?: string | undefined;
      readonly limit: number;
      readonly status?: OutboxStatus | undefined;
      readonly bytesMax: number;
    },
  ): Promise<{ readonly tasks: readonly TaskView[]; readonly isCut: boolean }>;
  /** Lists the first tasks of a batch, without their results. */
  firstTasks(batchId: string, limit: number): Promise<TaskSummary[]>;
  task(batchId: string, key: string): Promise<TaskView | undefined>;
  /** Counts the tasks of a batch by state. */
  counts(batchId: string): Promise<TaskCounts>;
  /** Reads the known times of a batch's tasks, and the usual ones of its DAG's handlers from earlier batches. */
  times(
    batch: Batch,
    limits: { readonly batches: number; readonly tasksMax: number },
  ): Promise<{ readonly tasks: readonly TaskTimes[]; readonly usualMs: ReadonlyMap<string, number> }>;
  /** Lists the dependencies between the tasks of a batch. */
  edges(batch: Batch): Promise<readonly (readonly [from: string, to: string])[]>;
  /** Counts all tasks by state, in one query. */
  backlog(tenant?: string): Promise<BacklogView>;
  /** Lists batches, the newest first. */
  batches(filter: {
    readonly tenant?: string | undefined;
    readonly dag?: string | undefined;
    readonly status?: BatchStatus | undefined;
    readonly bizKey?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<BatchSummary[]>;
  /** Reads the results or failures of batches, as seen by `tx` if there is one. */
  endings(ids: readonly string[], bytesMax: number, tx?: Tx): Promise<BatchEnding[]>;
  /** Lists dead letters, the newest first. */
  deadLetters(filter: {
    readonly tenant?: string | undefined;
    readonly handler?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<TaskSummary[]>;
}
