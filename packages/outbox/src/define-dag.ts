import type { RetryPolicy, WorkContext } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { FailurePolicy, JoinRule, TaskMode } from './model.js';

/** The batch of a task, as its handler gets it. */
export interface BatchOfTask {
  readonly id: string;
  readonly tenant: string;
  readonly dag: string;
  readonly bizKey: string;
  readonly runNo: number;
  readonly traceparent: string | undefined;
}

/** A task that a handler adds to its own batch. */
export interface AddedTask {
  /** Unique in the batch. */
  readonly key: string;
  /** `dag.key` of the handler that runs it. */
  readonly handler: string;
  /** Payload for its handler (that of the batch). null counts as missing. */
  readonly payload?: unknown;
  /** Keys of blocked tasks that have to wait for this one too. */
  readonly before?: string | readonly string[] | undefined;
}

/** The context of a handler of either mode. */
export interface TaskContext<P = unknown, I = Readonly<Record<string, unknown>>> extends WorkContext {
  /** The payload of the batch, or that of the task if another task added it with one. */
  readonly payload: P;
  /** Results of its parents by key; `{ error }` for one that failed under `continue`. */
  readonly inputs: I;
  readonly batch: BatchOfTask;
  readonly taskKey: string;
  /**
   * Adds tasks to the batch, which run after this one. They are stored with its completion, or not at all.
   * @throws MillraceError `TASKS_INVALID`; `BATCH_TOO_LARGE` past `tasksPerBatchMax`; `PARAMETER_INVALID` for a payload that JSON cannot carry.
   */
  addTasks(tasks: readonly AddedTask[]): void;
}

/** The context of a transactional handler. */
export interface TransactionalContext<P = unknown, I = Readonly<Record<string, unknown>>>
  extends TaskContext<P, I> {
  /** What is written through it commits together with the task's completion, or not at all. `commitWith` is refused. */
  readonly tx: Tx;
}

/** The settings of a task of either mode. */
interface TaskSettings<I> {
  /** Keys of its parents. A root has none. */
  readonly after?: readonly string[] | undefined;
  /** The ends of its parents that it waits for (`all`). */
  readonly join?: JoinRule | undefined;
  /** The effect of its failure on the batch (`fail`). */
  readonly onFailure?: FailurePolicy | undefined;
  /** Condition. If it returns false, the task is SKIPPED instead of run. */
  readonly when?: ((inputs: I) => boolean | Promise<boolean>) | undefined;
  /** Longest time of an attempt (30000). */
  readonly timeoutMs?: number | undefined;
  /** Retries (4, exponential). */
  readonly retry?: RetryPolicy | undefined;
  /** First delay of `exponential` and `linear` (1000). */
  readonly backoffMs?: number | undefined;
}

/** A task whose effect is written through `tx`, exactly once. */
export interface TransactionalTask<P, I> extends TaskSettings<I> {
  /** The default. */
  readonly mode?: 'transactional' | undefined;
  /** The handler. It may be bound later by name (`@OutboxTask`). */
  readonly run?: ((context: TransactionalContext<P, I>) => unknown) | undefined;
}

/** A task that calls other systems, at least once, with an idempotency key. */
export interface ExternalTask<P, I> extends TaskSettings<I> {
  /** Runs the handler outside of a transaction. */
  readonly mode: 'external';
  /** The handler. It may be bound later by name (`@OutboxTask`). */
  readonly run?: ((context: TaskContext<P, I>) => unknown) | undefined;
}

/** One task of a DAG, as the user writes it. */
export type TaskDefinition<P = never, I = never> = TransactionalTask<P, I> | ExternalTask<P, I>;

/** A DAG, as the user writes it. */
export interface DagDefinition {
  readonly name: string;
  /** In the order in which they were written. A repeated key is refused at registration. */
  readonly tasks: readonly (readonly [key: string, task: TaskDefinition])[];
}

/** One task of a DAG that is given as data: its wiring, and the handler of the application that runs it. */
export interface DagTaskData {
  /** `dag.key` of a DAG in code (the same DAG and key). */
  readonly handler?: string | undefined;
  /** Keys of its parents. A root has none. */
  readonly after?: readonly string[] | undefined;
  /** The ends of its parents that it waits for (`all`). */
  readonly join?: JoinRule | undefined;
  /** Must be the mode of its handler. */
  readonly mode?: TaskMode | undefined;
  /** The effect of its failure on the batch (`fail`). */
  readonly onFailure?: FailurePolicy | undefined;
  /** Longest time of an attempt (that of its handler in code). */
  readonly timeoutMs?: number | undefined;
  /** Attempts after the first one (those of its handler in code). */
  readonly retries?: number | undefined;
  /** First delay of a retry (that of its handler in code). */
  readonly backoffMs?: number | undefined;
}

/** A DAG as plain data, such as JSON, for `Dags.apply`. */
export interface DagData {
  readonly name: string;
  /** Tasks by key. */
  readonly tasks: Readonly<Record<string, DagTaskData>>;
}

/** Defines one task of a DAG. `task<Day, { load: number[] }>(…)` gives the types of its payload and inputs, which are not checked. */
export function task<P = unknown, I = Readonly<Record<string, unknown>>>(
  definition: TransactionalTask<P, I>,
  // A DAG takes tasks of any types, as `never`. That must not be inferred for a task without types.
): TaskDefinition<NoInfer<P>, NoInfer<I>>;
export function task<P = unknown, I = Readonly<Record<string, unknown>>>(
  definition: ExternalTask<P, I>,
): TaskDefinition<NoInfer<P>, NoInfer<I>>;
export function task(definition: TaskDefinition<unknown, unknown>): TaskDefinition<unknown, unknown> {
  return Object.freeze({ ...definition });
}

/** Defines a DAG. Registration validates it. */
export function defineDag(
  name: string,
  tasks: Readonly<Record<string, TaskDefinition>> | Iterable<readonly [string, TaskDefinition]>,
): DagDefinition {
  const pairs =
    Symbol.iterator in tasks
      ? [...(tasks as Iterable<readonly [string, TaskDefinition]>)]
      : Object.entries(tasks);
  return Object.freeze({ name, tasks: pairs });
}
