import { pageSize } from './batches.js';
import type { DagData } from './define-dag.js';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type { DagView, Page } from './model.js';
import { shown } from './rules/names.js';
import { readDagData } from './rules/read-dag-data.js';
import type { ValidDag } from './rules/validate-dag.js';
import { APPLIED, channelOf } from './wake-ups.js';

/** A stored DAG without its tasks. */
export type DagHead = Omit<DagView, 'tasks'>;

/** A definition under its version. */
export interface StoredDag {
  readonly version: number;
  /** False if this very definition was stored before. */
  readonly created: boolean;
}

/** Stored DAGs. */
export interface DagStore {
  /**
   * Stores a DAG, unless this very definition is stored already, and puts it in force.
   * @param options - `inForceMax`: the most DAGs that may be in force; `channel` and `hint`: notify the instances.
   * @throws MillraceError `DAG_INVALID` if too many others are in force; then nothing is stored.
   */
  apply(
    dag: ValidDag,
    options: { readonly inForceMax: number; readonly channel: string; readonly hint: string },
  ): Promise<StoredDag>;
  /** Lists DAGs by name, each in the version that a new batch takes. */
  heads(filter: {
    readonly after?: string | undefined;
    readonly name?: string | undefined;
    readonly limit: number;
  }): Promise<readonly DagHead[]>;
  /**
   * Reads the tasks of DAGs.
   * @param most - tasks of each DAG; edges of each DAG: one that has more shows no `after`.
   */
  withTasks(
    heads: readonly DagHead[],
    most: { readonly tasks: number; readonly edges: number },
  ): Promise<readonly DagView[]>;
}

/** An applied DAG. */
export interface AppliedDag {
  readonly name: string;
  readonly version: number;
  readonly taskCount: number;
  /** False if this very definition was stored before. */
  readonly created: boolean;
}

/** Selects the DAGs to list. */
export interface DagFilter {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Maximum number of applied DAGs in force. Every claim reads the queue of each of them. */
const IN_FORCE_MAX = 1_000;

/** Limits per DAG. */
const TASKS_SHOWN = 1_000;
const EDGES_SHOWN = 10_000;

/** Maximum number of tasks per page, whatever its limit. */
const TASKS_PER_PAGE = 10_000;

/** Stored DAGs: those of code, and those applied as data at run time. */
export class Dags {
  readonly #kit: Kit;
  readonly #store: DagStore;

  constructor(kit: Kit, store: DagStore) {
    this.#kit = kit;
    this.#store = store;
  }

  /**
   * Applies a DAG that is given as data, whose tasks handlers of this application run. From then on every new batch of this
   * name takes it, on all instances, until code registers a definition of this name that is not stored yet. Running batches
   * keep theirs. The same definition is the same version.
   * @param definition - fully validated, so it may come from outside.
   * @throws MillraceError `DAG_INVALID`, `BATCH_TOO_LARGE` (then nothing is stored); `BACKEND_UNAVAILABLE` and others of the
   * database.
   */
  async apply(definition: DagData): Promise<AppliedDag> {
    const { schema, tasksPerBatchMax } = this.#kit.options;
    const dag = readDagData(definition, this.#kit.registry, tasksPerBatchMax);
    const channel = channelOf(schema);
    const stored = await this.#store.apply(dag, { inForceMax: IN_FORCE_MAX, channel, hint: APPLIED });
    this.#kit.wakeUps.here({ kind: 'applied' });
    return { name: dag.name, ...stored, taskCount: dag.tasks.length };
  }

  /**
   * Returns one DAG with its first 1,000 tasks, in the version that a new batch takes.
   * @throws MillraceError `DAG_NOT_FOUND`.
   */
  async get(name: string): Promise<DagView> {
    const heads = typeof name === 'string' ? await this.#store.heads({ name, limit: 1 }) : [];
    const [dag] = await this.#withTasks(heads);
    if (!dag) throw ERRORS.create('DAG_NOT_FOUND', { dag: shown(name) });
    return dag;
  }

  /** Lists DAGs by name, in pages. A page of DAGs with many tasks is shorter than its limit. */
  async list({ cursor, limit }: DagFilter = {}): Promise<Page<DagView>> {
    const size = pageSize(limit);
    const heads = await this.#store.heads({ after: cursor, limit: size });
    const shownHeads = fitting(heads);
    const isEnd = heads.length < size && shownHeads.length === heads.length;
    const items = await this.#withTasks(shownHeads);
    return { items, cursor: isEnd ? undefined : items.at(-1)?.name };
  }

  async #withTasks(heads: readonly DagHead[]): Promise<readonly DagView[]> {
    if (heads.length === 0) return [];
    return this.#store.withTasks(heads, { tasks: TASKS_SHOWN, edges: EDGES_SHOWN });
  }
}

/** Takes the first DAGs that fit on a page, at least one. */
function fitting(heads: readonly DagHead[]): readonly DagHead[] {
  let tasks = 0;
  const end = heads.findIndex(({ taskCount }) => {
    tasks += Math.min(taskCount, TASKS_SHOWN);
    return tasks > TASKS_PER_PAGE;
  });
  return end < 0 ? heads : heads.slice(0, Math.max(1, end));
}
