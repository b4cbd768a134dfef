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

/** Stores applied DAGs. */
export interface ApplyStore {
  /**
   * Stores a DAG, unless this very definition is stored already, and puts it in force.
   * @param options - `inForceMax`: the most DAGs that may be in force; `channel` and `hint`: notify the instances.
   * @throws MillraceError `DAG_INVALID` if too many others are in force; then nothing is stored.
   */
  apply(
    dag: ValidDag,
    options: { readonly inForceMax: number; readonly channel: string; readonly hint: string },
  ): Promise<StoredDag>;
}

/** Stored DAGs to show. */
export interface DagViews {
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

/** A DAG that was applied. */
export interface AppliedDag {
  readonly name: string;
  readonly version: number;
  readonly taskCount: number;
  /** False: this very definition was stored already. */
  readonly created: boolean;
}

/** Which DAGs to list. */
export interface DagFilter {
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Each of them is one more place in which every look for work looks. */
const IN_FORCE_MAX = 1_000;

/** Of one DAG. */
const TASKS_SHOWN = 1_000;
const EDGES_SHOWN = 10_000;

/** A page ends before it has more tasks than that, whatever its limit. */
const TASKS_PER_PAGE = 10_000;

/** The DAGs that are stored: those of code, and those that are applied as data while everything runs. */
export class Dags {
  readonly #kit: Kit;
  readonly #store: ApplyStore;
  readonly #views: DagViews;

  constructor(kit: Kit, store: ApplyStore, views: DagViews) {
    this.#kit = kit;
    this.#store = store;
    this.#views = views;
  }

  /**
   * Applies a DAG that is given as data, whose tasks are run by handlers that this application has. From then on every new batch of this name takes it,
   * whichever instance starts it and whatever its code says, until code brings a definition of this name that is not stored yet. Running batches keep
   * theirs. May be repeated: the same definition is the same version.
   * @param definition - see DagData; anything else is refused, so it may come from outside.
   * @throws MillraceError `DAG_INVALID`, `BATCH_TOO_LARGE` (nothing has been stored then); `BACKEND_UNAVAILABLE` and others of the database.
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
   * One DAG with its tasks (the first thousand), in the version that a batch started by its name alone takes.
   * @throws MillraceError `DAG_NOT_FOUND`.
   */
  async get(name: string): Promise<DagView> {
    const heads = typeof name === 'string' ? await this.#views.heads({ name, limit: 1 }) : [];
    const [dag] = await this.#withTasks(heads);
    if (!dag) throw ERRORS.create('DAG_NOT_FOUND', { dag: shown(name) });
    return dag;
  }

  /** DAGs in the order of their names, a page at a time; a page of DAGs with many tasks is shorter than its limit. */
  async list({ cursor, limit }: DagFilter = {}): Promise<Page<DagView>> {
    const size = pageSize(limit);
    const heads = await this.#views.heads({ after: cursor, limit: size });
    const shownHeads = fitting(heads);
    const isEnd = heads.length < size && shownHeads.length === heads.length;
    const items = await this.#withTasks(shownHeads);
    return { items, cursor: isEnd ? undefined : items.at(-1)?.name };
  }

  async #withTasks(heads: readonly DagHead[]): Promise<readonly DagView[]> {
    if (heads.length === 0) return [];
    return this.#views.withTasks(heads, { tasks: TASKS_SHOWN, edges: EDGES_SHOWN });
  }
}

/** The first of them, one at least. */
function fitting(heads: readonly DagHead[]): readonly DagHead[] {
  let tasks = 0;
  const end = heads.findIndex(({ taskCount }) => {
    tasks += Math.min(taskCount, TASKS_SHOWN);
    return tasks > TASKS_PER_PAGE;
  });
  return end < 0 ? heads : heads.slice(0, Math.max(1, end));
}
