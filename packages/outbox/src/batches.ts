import { ERRORS as FOUNDATION_ERRORS, printable } from '@millrace/foundation';
import type { Tx } from '@millrace/postgres';
import { ERRORS } from './errors.js';
import type { Kit } from './kit.js';
import type {
  BacklogView,
  Batch,
  BatchEnding,
  BatchStatus,
  BatchSummary,
  OutboxStatus,
  Page,
  TaskCounts,
  TaskSummary,
  TaskView,
} from './model.js';
import { type CriticalPath, criticalPath } from './rules/critical-path.js';
import { reopen } from './rules/reopen.js';
import { timeTasks } from './rules/task-times.js';
import { BATCH_MOVES, TASK_MOVES } from './states.js';

/** A batch with its tasks. */
export interface BatchDetails {
  readonly batch: Batch;
  readonly counts: TaskCounts;
  /** The first 1,000 tasks, without results. `Batches.tasks` lists all, with results. */
  readonly tasks: readonly TaskSummary[];
  /** Dependencies by task key, added tasks included. undefined if there are too many to draw. */
  readonly edges: readonly (readonly [from: string, to: string])[] | undefined;
  /**
   * The chain of tasks that takes longest, by the times of this batch and of earlier ones of its DAG. undefined if no time is
   * known yet, or the batch has more than 10,000 tasks.
   */
  readonly criticalPath: CriticalPath | undefined;
  /** Expected end if there are enough workers. undefined if it has ended or there is no critical path. */
  readonly eta: Date | undefined;
}

/** Selects the batches to list. */
export interface BatchFilter {
  /** undefined selects all tenants. */
  readonly tenant?: string | undefined;
  readonly dag?: string | undefined;
  readonly status?: BatchStatus | undefined;
  readonly bizKey?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Selects the tasks of a batch to list. */
export interface TaskFilter {
  readonly status?: OutboxStatus | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

/** Selects the dead letters to list. */
export interface DeadLetterFilter {
  readonly tenant?: string | undefined;
  /** `dag.key`. */
  readonly handler?: string | undefined;
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
}

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1_000;
const TASKS_SHOWN = 1_000;
/** Maximum size of the results on one page of tasks: one of the usual maximum (`resultBytesMax`), or 200 of 20 KiB. */
const PAGE_RESULT_BYTES_MAX = 4 * 1024 ** 2;
/** Limits of the search for a critical path: tasks of the batch, and earlier batches whose times are read. */
const PATH_TASKS_MAX = 10_000;
const BATCHES_COMPARED = 5;
const EDGES_SHOWN = 10_000;
const ID = /^[1-9]\d{0,17}$/;

/** Reads, aborts and retries batches. */
export class Batches {
  readonly #kit: Kit;

  constructor(kit: Kit) {
    this.#kit = kit;
  }

  /**
   * Returns one batch.
   * @throws MillraceError `BATCH_NOT_FOUND`.
   */
  async get(id: string): Promise<Batch> {
    const batch = ID.test(id) ? await this.#kit.batches.get(id) : undefined;
    if (!batch) throw notFound(id);
    return batch;
  }

  /** Finds the latest run of a business key. */
  async find({
    tenant = '',
    dag,
    bizKey,
  }: {
    tenant?: string | undefined;
    dag: string;
    bizKey: string;
  }): Promise<Batch | undefined> {
    return this.#kit.batches.find({ tenant, dag, bizKey });
  }

  /**
   * Returns one batch with its first 1,000 tasks, their number by state, their dependencies, the critical path and the expected end.
   * @throws MillraceError `BATCH_NOT_FOUND`.
   */
  async status(id: string): Promise<BatchDetails> {
    const batch = await this.get(id);
    const [counts, tasks, { path, edges }] = await Promise.all([
      this.#kit.views.counts(id),
      this.#kit.views.firstTasks(id, TASKS_SHOWN),
      this.#shape(batch),
    ]);
    const eta =
      path && batch.status === 'RUNNING' ? new Date(this.#kit.options.clock.now() + path.leftMs) : undefined;
    return { batch, counts, tasks, edges, criticalPath: path, eta };
  }

  /** Reads what requires all edges of a batch. Returns nothing for a batch that is too large. */
  async #shape(batch: Batch): Promise<{
    readonly path?: CriticalPath | undefined;
    readonly edges?: BatchDetails['edges'];
  }> {
    if (batch.taskCount > PATH_TASKS_MAX) return {};
    const [{ tasks, usualMs }, edges] = await Promise.all([
      this.#kit.views.times(batch, { batches: BATCHES_COMPARED, tasksMax: PATH_TASKS_MAX }),
      this.#kit.views.edges(batch),
    ]);
    const timed = timeTasks(tasks, usualMs);
    return {
      path: timed && criticalPath(timed, edges),
      ...(edges.length > EDGES_SHOWN ? {} : { edges }),
    };
  }

  /**
   * Lists the tasks of a batch by id, in pages. A page with large results (over 4 MiB together) ends early. Only the cursor
   * shows whether there are more.
   * @throws MillraceError `BATCH_NOT_FOUND`.
   */
  async tasks(id: string, { status, cursor, limit }: TaskFilter = {}): Promise<Page<TaskView>> {
    checkStatus(status, Object.keys(TASK_MOVES));
    await this.get(id);
    const size = pageSize(limit);
    const asked = { after: cursorOf(cursor), limit: size, status, bytesMax: PAGE_RESULT_BYTES_MAX };
    const { tasks, isCut } = await this.#kit.views.tasks(id, asked);
    return pageOf(tasks, isCut ? tasks.length : size);
  }

  /**
   * Returns one task.
   * @throws MillraceError `BATCH_NOT_FOUND`, `TASK_NOT_FOUND`.
   */
  async task(id: string, key: string): Promise<TaskView> {
    await this.get(id);
    const task = await this.#kit.views.task(id, key);
    if (!task) throw ERRORS.create('TASK_NOT_FOUND', { batch: id, task: key });
    return task;
  }

  /**
   * Reads the results or failures of batches, in one query.
   * @param options - `bytesMax`: maximum size of the results of one batch, as PostgreSQL writes them; `tx`: the transaction
   * of an `onBatchEnd` listener, which alone sees the end.
   * @returns the batches found, by id.
   */
  async endings(
    ids: readonly string[],
    { bytesMax, tx }: { readonly bytesMax: number; readonly tx?: Tx | undefined },
  ): Promise<ReadonlyMap<string, BatchEnding>> {
    const known = ids.filter((id) => ID.test(id));
    if (known.length === 0) return new Map();
    return new Map((await this.#kit.views.endings(known, bytesMax, tx)).map((ending) => [ending.id, ending]));
  }

  /** Lists batches without their payloads, newest first, in pages. */
  async list({ cursor, limit, ...filter }: BatchFilter = {}): Promise<Page<BatchSummary>> {
    checkStatus(filter.status, Object.keys(BATCH_MOVES));
    const size = pageSize(limit);
    return pageOf(await this.#kit.views.batches({ ...filter, before: cursorOf(cursor), limit: size }), size);
  }

  /** Lists dead letters, newest first, in pages. */
  async deadLetters({ cursor, limit, ...filter }: DeadLetterFilter = {}): Promise<Page<TaskSummary>> {
    const size = pageSize(limit);
    return pageOf(
      await this.#kit.views.deadLetters({ ...filter, before: cursorOf(cursor), limit: size }),
      size,
    );
  }

  /** Counts all tasks by state, and reads how long the oldest ready task has been able to run. */
  backlog({ tenant }: { readonly tenant?: string | undefined } = {}): Promise<BacklogView> {
    return this.#kit.views.backlog(tenant);
  }

  /**
   * Ends a batch now. Tasks that have not started are cancelled. Running tasks lose their claim: their signal aborts and their
   * writes are rolled back. A batch that has ended stays as it is.
   * @throws MillraceError `BATCH_NOT_FOUND`; what a listener of `onBatchEnd` throws, and then nothing has changed.
   */
  async abort(id: string): Promise<Batch> {
    await this.get(id);
    const { batch, isAborted } = await this.#kit.options.database.transaction(
      async (tx) => {
        const locked = await this.#kit.batches.lock(tx, id);
        if (!locked) throw notFound(id);
        if (locked.status !== 'RUNNING') return { batch: locked, isAborted: false };
        const aborted = await this.#kit.batches.abort(tx, id);
        await this.#kit.listeners.tell(tx, aborted);
        return { batch: aborted, isAborted: true };
      },
      { retries: 3 },
    );
    if (isAborted) {
      const { tenant, dag, bizKey, status } = batch;
      this.#kit.events.emit('batch', { id, tenant, dag, bizKey, status });
      const hint = { kind: 'aborted', batchId: id } as const;
      this.#kit.wakeUps.here(hint);
      this.#kit.wakeUps.others(hint);
    }
    return batch;
  }

  /**
   * Runs the tasks again that failed, were cancelled, or were skipped because of others. Done tasks stay done.
   * @returns the batch, RUNNING if there was anything to run again.
   * @throws MillraceError `BATCH_NOT_FOUND`.
   */
  retry(id: string): Promise<Batch> {
    return this.#reopen(id);
  }

  /**
   * Runs one failed task again, and the tasks that did not run because of it.
   * @throws MillraceError `BATCH_NOT_FOUND`, `TASK_NOT_FOUND`, `TASK_NOT_RETRYABLE`.
   */
  retryTask(id: string, key: string): Promise<Batch> {
    return this.#reopen(id, key);
  }

  async #reopen(id: string, only?: string): Promise<Batch> {
    await this.get(id);
    const batch = await this.#kit.options.database.transaction(
      async (tx) => {
        const locked = await this.#kit.batches.lock(tx, id);
        if (!locked) throw notFound(id);
        const { state, idOf } = await this.#kit.batches.lockTasks(tx, locked);
        if (only !== undefined) {
          const task = state.tasks.find(({ key }) => key === only);
          if (!task) throw ERRORS.create('TASK_NOT_FOUND', { batch: id, task: only });
          const { status } = task;
          if (status !== 'FAILED')
            throw ERRORS.create('TASK_NOT_RETRYABLE', { batch: id, task: only, status });
        }
        const { tasks, failing } = reopen(state, only);
        return tasks.length === 0 ? locked : this.#kit.batches.reopen(tx, locked, { tasks, failing, idOf });
      },
      { retries: 3 },
    );
    this.#kit.wakeUps.here({ kind: 'work', dag: batch.dag });
    return batch;
  }
}

const notFound = (id: string) => ERRORS.create('BATCH_NOT_FOUND', { batch: id });

function checkStatus(status: string | undefined, known: readonly string[]): void {
  if (status === undefined || known.includes(status)) return;
  const expected = `one of ${known.join(', ')}`;
  throw FOUNDATION_ERRORS.create('ID_INVALID', { kind: 'status', expected, given: printable(status) });
}

/** An unknown cursor starts from the beginning. */
const cursorOf = (cursor: string | undefined): string | undefined =>
  cursor !== undefined && ID.test(cursor) ? cursor : undefined;

/** Limits the size of a page. */
export const pageSize = (limit = LIMIT_DEFAULT): number =>
  Math.min(Math.max(1, Math.floor(limit) || 1), LIMIT_MAX);

const pageOf = <T extends { readonly id: string }>(items: readonly T[], size: number): Page<T> => ({
  items,
  cursor: items.length < size ? undefined : items.at(-1)?.id,
});
