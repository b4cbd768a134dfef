import type { RetryPolicy, WorkContext } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import type { FailurePolicy, JoinRule, TaskMode } from './model.js';

/** The batch a task belongs to, as its handler sees it. */
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
  /** New in the batch. */
  readonly key: string;
  /** `dag.key` of the handler that runs it. */
  readonly handler: string;
  /** Its handler gets that of the batch unless given; null is not given. */
  readonly payload?: unknown;
  /** Tasks that still wait, and now wait for this one, too. */
  readonly before?: string | readonly string[] | undefined;
}

/** What a handler of either mode is given. */
export interface TaskContext<P = unknown, I = Readonly<Record<string, unknown>>> extends WorkContext {
  /** Of the batch, or of the task itself when it was added by another one. */
  readonly payload: P;
  /** Results of what it depends on, by key; `{ error }` for one that failed under `continue`. */
  readonly inputs: I;
  readonly batch: BatchOfTask;
  readonly taskKey: string;
  /**
   * Adds tasks to the batch, which follow this one. They are written with its completion, or not at all.
   * @throws MillraceError `TASKS_INVALID`; `BATCH_TOO_LARGE` past `tasksPerBatchMax`; `PARAMETER_INVALID` for a payload that JSON cannot carry.
   */
  addTasks(tasks: readonly AddedTask[]): void;
}

/** What a transactional handler is given besides. */
export interface TransactionalContext<P = unknown, I = Readonly<Record<string, unknown>>>
  extends TaskContext<P, I> {
  /** Everything written through it is committed together with the task's completion, or not at all; `commitWith` is refused. */
  readonly tx: Tx;
}

/** What the two modes have in common. */
interface TaskSettings<I> {
  /** Keys of the tasks it depends on; none for a root. */
  readonly after?: readonly string[] | undefined;
  /** `all` unless given. */
  readonly join?: JoinRule | undefined;
  /** `fail` unless given. */
  readonly onFailure?: FailurePolicy | undefined;
  /** False: the task is SKIPPED instead of run. */
  readonly when?: ((inputs: I) => boolean | Promise<boolean>) | undefined;
  /** 30 s unless given. */
  readonly timeoutMs?: number | undefined;
  /** 4 retries, exponential, unless given. */
  readonly retry?: RetryPolicy | undefined;
  /** The first delay of `exponential` and `linear`; 1 s unless given. */
  readonly backoffMs?: number | undefined;
}

/** A task whose effect is written through `tx`: exactly once. */
export interface TransactionalTask<P, I> extends TaskSettings<I> {
  /** The mode of a task that names none. */
  readonly mode?: 'transactional' | undefined;
  /** Given here, or bound later by name (`@OutboxTask`). */
  readonly run?: ((context: TransactionalContext<P, I>) => unknown) | undefined;
}

/** A task that calls other systems: at least once, with an idempotency key. */
export interface ExternalTask<P, I> extends TaskSettings<I> {
  /** It runs outside of a transaction. */
  readonly mode: 'external';
  /** Given here, or bound later by name (`@OutboxTask`). */
  readonly run?: ((context: TaskContext<P, I>) => unknown) | undefined;
}

/** One step of a DAG, as the user writes it. */
export type TaskDefinition<P = never, I = never> = TransactionalTask<P, I> | ExternalTask<P, I>;

/** A DAG as the user writes it: a name and its steps. */
export interface DagDefinition {
  readonly name: string;
  /** In the order they were written; a key may stand there twice, which is refused when it is registered. */
  readonly tasks: readonly (readonly [key: string, task: TaskDefinition])[];
}

/** One step of a DAG that is given as data: how it stands among the others, and which handler of the application runs it. */
export interface DagTaskData {
  /** `dag.key` of a DAG in code; of the same DAG and key unless given. */
  readonly handler?: string | undefined;
  /** Keys of the tasks it depends on; none for a root. */
  readonly after?: readonly string[] | undefined;
  /** `all` unless given. */
  readonly join?: JoinRule | undefined;
  /** That of its handler, which no data can change. */
  readonly mode?: TaskMode | undefined;
  /** `fail` unless given. */
  readonly onFailure?: FailurePolicy | undefined;
  /** Of one try; as its handler has it in code unless given. */
  readonly timeoutMs?: number | undefined;
  /** Tries after the first one; as its handler has it in code unless given. */
  readonly retries?: number | undefined;
  /** The first delay of a retry; as its handler has it in code unless given. */
  readonly backoffMs?: number | undefined;
}

/** A DAG as plain data, such as JSON: see `Dags.apply`. */
export interface DagData {
  readonly name: string;
  /** Steps by key. */
  readonly tasks: Readonly<Record<string, DagTaskData>>;
}

/**
 * Describes one step of a DAG. `task<Day, { load: number[] }>(…)` says what its payload and its inputs are; nothing checks that they are.
 */
export function task<P = unknown, I = Readonly<Record<string, unknown>>>(
  definition: TransactionalTask<P, I>,
  // A DAG takes steps of any types, as `never`: that must not be inferred for a step that says nothing of its own.
): TaskDefinition<NoInfer<P>, NoInfer<I>>;
export function task<P = unknown, I = Readonly<Record<string, unknown>>>(
  definition: ExternalTask<P, I>,
): TaskDefinition<NoInfer<P>, NoInfer<I>>;
export function task(definition: TaskDefinition<unknown, unknown>): TaskDefinition<unknown, unknown> {
  return Object.freeze({ ...definition });
}

/** Describes a DAG. It is checked when it is registered. */
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
