import type { BackoffStrategy } from '@millrace/foundation';
import type { DagDefinition, TaskContext, TransactionalContext } from './define-dag.js';
import type { FailurePolicy } from './model.js';
import { OUTBOX_DEFAULTS } from './options.js';
import { definitionText } from './rules/definition-text.js';
import { handlerName, parseHandlerName, quoted } from './rules/names.js';
import type { TaskRun } from './rules/task-settings.js';
import {
  dagInvalid,
  didYouMean,
  listed,
  type ValidDag,
  type ValidTask,
  validateDag,
} from './rules/validate-dag.js';

/** The settings of a handler. */
interface HandlerSettings {
  /** `dag.key`. */
  readonly name: string;
  readonly dag: string;
  readonly key: string;
  readonly when: ((inputs: Readonly<Record<string, unknown>>) => boolean | Promise<boolean>) | undefined;
  readonly onFailure: FailurePolicy;
  readonly timeoutMs: number;
  /** Maximum number of attempts. */
  readonly attemptsMax: number;
  readonly backoff: BackoffStrategy;
  readonly backoffMs: number;
  readonly jitter: number;
}

/** The handler of the tasks of one key of a DAG, with every default filled in. */
export type TaskHandler =
  | (HandlerSettings & {
      readonly mode: 'transactional';
      readonly run: (context: TransactionalContext) => unknown;
    })
  | (HandlerSettings & { readonly mode: 'external'; readonly run: (context: TaskContext) => unknown });

/** Stores the versions of this instance's DAGs. */
export interface DagVersions {
  /**
   * Stores a DAG, unless this very definition is stored already, and notes that it is in use. All instances that do so get
   * the same version, and may repeat it. A definition that was not stored before displaces the applied one of this name,
   * because the code has changed since.
   * @param again - true if this instance has stored it before and it was deleted, so the code has not changed.
   * @returns its version.
   */
  save(dag: ValidDag, again: boolean): Promise<number>;
}

/** A version that was applied as data, and whether this process can run it. */
export interface AppliedVersion {
  readonly name: string;
  readonly version: number;
  readonly taskCount: number;
  /** True if this process has some, or all, of its handlers. */
  readonly hasSome: boolean;
  readonly hasAll: boolean;
}

/** Maximum number of applied versions per claim, which compares every entry with all of them. Others are found by handler. */
const APPLIED_RUNNABLE_MAX = 100;

/** A DAG that has been added. */
interface Entry {
  readonly dag: ValidDag;
  readonly tasks: ReadonlyMap<string, ValidTask>;
  /** Made when first read. */
  readonly handlers: Map<string, TaskHandler>;
  version: number | undefined;
}

/** The DAGs of this process, their handlers, and their stored versions. */
export class DagRegistry {
  readonly #versions: DagVersions;
  readonly #tasksMax: number;
  readonly #entries = new Map<string, Entry>();
  #applied: readonly AppliedVersion[] = [];
  #runnable: { readonly appliedNames: readonly string[]; readonly appliedVersions: readonly number[] } = {
    appliedNames: [],
    appliedVersions: [],
  };
  /** By DAG and key. A handler may be bound before its DAG is added. */
  readonly #bound = new Map<string, Map<string, TaskRun>>();

  /** @param options - `tasksPerBatchMax`: maximum number of tasks of a DAG. */
  constructor(versions: DagVersions, options: { readonly tasksPerBatchMax?: number | undefined } = {}) {
    this.#versions = versions;
    this.#tasksMax = options.tasksPerBatchMax ?? OUTBOX_DEFAULTS.tasksPerBatchMax;
  }

  /** Names of the DAGs whose tasks this process may have handlers for: the added and the applied ones. */
  get names(): readonly string[] {
    const { appliedNames } = this.#runnable;
    return [...this.#entries.keys(), ...appliedNames.filter((name) => !this.#entries.has(name))];
  }

  /** The stored versions of the DAGs of this process. */
  get versions(): readonly number[] {
    return [...this.#entries.values()].flatMap(({ version }) => version ?? []);
  }

  /** Versions that this process can run entirely: its own, and the newest applied ones. */
  get runnableVersions(): readonly number[] {
    return [...this.versions, ...this.#runnable.appliedVersions];
  }

  /** Names of the handlers of this process, each `dag.key`. */
  get handlerNames(): Iterable<string> {
    return this.#handlerNames();
  }

  /** Replaces the known applied versions. */
  noteApplied(applied: readonly AppliedVersion[]): void {
    this.#applied = applied;
    const whole = applied.filter(({ hasAll }) => hasAll).slice(0, APPLIED_RUNNABLE_MAX);
    this.#runnable = {
      appliedNames: [...new Set(applied.filter(({ hasSome }) => hasSome).map(({ name }) => name))],
      appliedVersions: whole.map(({ version }) => version),
    };
  }

  /**
   * Adds a DAG. The same one may be added again.
   * @param dag - made with `defineDag`.
   * @throws MillraceError `DAG_INVALID`, `BATCH_TOO_LARGE`; then nothing is added.
   */
  add(dag: DagDefinition): void {
    const entry = this.#entryFor(dag);
    this.#entries.set(entry.dag.name, entry);
  }

  /**
   * Binds a handler to a task without `run`, before or after its DAG is added.
   * @throws MillraceError `DAG_INVALID`: there is no such task, or it has a handler.
   */
  bind(dag: string, key: string, run: TaskRun): void {
    if (typeof run !== 'function')
      throw dagInvalid(dag, `the handler of task ${quoted(key)} must be a function`);
    const entry = this.#entries.get(dag);
    if (entry) requireBindable(entry.dag.name, entry.tasks, key);
    const bound = this.#bound.get(dag) ?? new Map<string, TaskRun>();
    if (bound.has(key)) throw dagInvalid(dag, `task ${quoted(key)} has two handlers; leave one of them out`);
    this.#bound.set(dag, bound.set(key, run));
  }

  /**
   * Stores the added DAGs, each in one transaction. May be repeated.
   * @throws MillraceError `DAG_INVALID`: a task has no handler, or a handler no DAG (then nothing is stored);
   * `BACKEND_UNAVAILABLE` and others of the database.
   */
  async save(): Promise<void> {
    for (const [dag, bound] of this.#bound) {
      if (this.#entries.has(dag)) continue;
      throw dagInvalid(
        dag,
        `there are handlers for it (${listed([...bound.keys()])}), but nobody has added it`,
      );
    }
    const entries = [...this.#entries.values()];
    for (const entry of entries) this.#requireHandlers(entry);
    for (const entry of entries) entry.version = await this.#store(entry);
  }

  /**
   * Adds one DAG and stores it.
   * @param dag - made with `defineDag`. Every task has a handler.
   * @returns its version.
   * @throws MillraceError `DAG_INVALID`, `BATCH_TOO_LARGE` (then nothing is added or stored);
   * `BACKEND_UNAVAILABLE` and others of the database.
   */
  async register(dag: DagDefinition): Promise<number> {
    const entry = this.#entryFor(dag);
    this.#requireHandlers(entry);
    this.#entries.set(entry.dag.name, entry);
    const version = await this.#store(entry);
    entry.version = version;
    return version;
  }

  #store({ dag, version }: Entry): Promise<number> {
    return this.#versions.save(dag, version !== undefined);
  }

  *#handlerNames(): Iterable<string> {
    for (const { dag } of this.#entries.values())
      for (const task of dag.tasks) if (this.#runOf(dag.name, task)) yield handlerName(dag.name, task.key);
  }

  /** Returns the stored version of a DAG of this process, or undefined if it is not added or not stored. */
  versionOf(name: string): number | undefined {
    return this.#entries.get(name)?.version;
  }

  /** Returns the maximum number of tasks of a DAG, over all versions that this process knows; 0 if it knows none. */
  taskCountOf(name: string): number {
    const own = this.#entries.get(name)?.dag.tasks.length ?? 0;
    return this.#applied.reduce(
      (most, one) => (one.name === name ? Math.max(most, one.taskCount) : most),
      own,
    );
  }

  /**
   * Returns the frozen handler of a task, or undefined.
   * @param name - `dag.key`.
   */
  handler(name: string): TaskHandler | undefined {
    const parts = parseHandlerName(name);
    const entry = parts && this.#entries.get(parts.dag);
    const task = entry?.tasks.get(parts?.key ?? '');
    if (!entry || !task) return undefined;
    const known = entry.handlers.get(task.key);
    if (known) return known;
    const run = this.#runOf(entry.dag.name, task);
    if (!run) return undefined;
    const handler = handlerOf(entry.dag.name, task, run);
    entry.handlers.set(task.key, handler);
    return handler;
  }

  /** Returns the entry of a DAG, or makes one. */
  #entryFor(given: DagDefinition): Entry {
    const dag = validateDag(given, this.#tasksMax);
    const known = this.#entries.get(dag.name);
    const tasks = new Map(dag.tasks.map((task) => [task.key, task]));
    if (known) {
      if (isSame(known, dag)) return known;
      throw dagInvalid(dag.name, 'another DAG of this name has been added; give one of the two another name');
    }
    for (const key of this.#bound.get(dag.name)?.keys() ?? []) requireBindable(dag.name, tasks, key);
    return { dag, tasks, handlers: new Map(), version: undefined };
  }

  #requireHandlers({ dag }: Entry): void {
    const missing = dag.tasks.filter((task) => !this.#runOf(dag.name, task)).map(({ key }) => key);
    if (missing.length === 0) return;
    const what = `nothing runs ${missing.length === 1 ? 'its task' : 'its tasks'} ${listed(missing)}`;
    throw dagInvalid(dag.name, `${what}; give each a 'run', or bind a handler to it (@OutboxTask in NestJS)`);
  }

  #runOf(dag: string, task: ValidTask): TaskRun | undefined {
    return task.run ?? this.#bound.get(dag)?.get(task.key);
  }
}

function requireBindable(dag: string, tasks: ReadonlyMap<string, ValidTask>, key: string): void {
  const task = tasks.get(key);
  if (!task) {
    throw dagInvalid(
      dag,
      `a handler is bound to its task ${quoted(key)}, which is not there${didYouMean(key, tasks.keys())}`,
    );
  }
  if (task.run)
    throw dagInvalid(dag, `task ${quoted(key)} has two handlers: its own 'run' and one that is bound to it`);
}

/** Compares the functions too: which of two handlers is meant is unknown. */
const isSame = ({ dag, tasks }: Entry, other: ValidDag): boolean =>
  definitionText(dag) === definitionText(other) &&
  other.tasks.every((task) => {
    const { run, when, retry } = tasks.get(task.key) ?? {};
    return (
      run === task.run &&
      when === task.when &&
      retry?.backoff === task.retry.backoff &&
      retry.jitter === task.retry.jitter
    );
  });

function handlerOf(dag: string, task: ValidTask, run: TaskRun): TaskHandler {
  const { key, mode, when, onFailure, timeoutMs, retry, backoffMs } = task;
  return Object.freeze({
    name: handlerName(dag, key),
    dag,
    key,
    mode,
    run,
    when,
    onFailure,
    timeoutMs,
    attemptsMax: retry.retries + 1,
    backoff: retry.backoff,
    backoffMs,
    jitter: retry.jitter,
    // The author's types of payload and inputs are not known here.
  } as TaskHandler);
}
