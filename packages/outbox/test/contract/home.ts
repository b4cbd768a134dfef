import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import { until } from '@millrace/testkit';
import {
  type Batch,
  type DagDefinition,
  defineDag,
  Outbox,
  type OutboxSetup,
  type OutboxStatus,
  type TaskDefinition,
  type TaskSummary,
  type TaskView,
} from '../../src/index.js';
import {
  type DatabaseOptions,
  type OutboxDatabase,
  openOutboxDatabase,
  type PlaceKind,
} from '../open-outbox.js';

/** Tasks by key. */
type Tasks = Readonly<Record<string, TaskDefinition>>;

/** What a test may want of an outbox besides its DAGs. */
export type OutboxWishes = Partial<Omit<OutboxSetup, 'dags' | 'schema'>>;

/** Long enough for a loaded machine; nothing waits for its end unless something is wrong. */
export const DEADLINE_MS = 15_000;

/** Every look of a test takes its turn in PGlite's one session. */
const LOOK_EVERY_MS = 20;

let dags = 0;

/** The one database that all tests of a suite share. Each test has DAGs of its own, so that none meets the tasks of another. */
export class Home implements AsyncDisposable {
  readonly kind: Database['kind'];
  readonly #opened: OutboxDatabase;

  private constructor(opened: OutboxDatabase) {
    this.#opened = opened;
    this.kind = opened.database.kind;
  }

  static async open(place: PlaceKind): Promise<Home> {
    const opened = await openOutboxDatabase(place, { poolSize: 16 });
    await opened.database.query('CREATE TABLE effect (mark text NOT NULL)');
    return new Home(opened);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#opened[Symbol.asyncDispose]();
  }

  get database(): Database {
    return this.#opened.database;
  }

  get schema(): string {
    return this.#opened.schema;
  }

  /** Another Database on the same data; the embedded kind has one only. */
  anotherDatabase(options: DatabaseOptions = {}): Database {
    return this.kind === 'pglite' ? this.database : this.#opened.openAnother(options);
  }

  /** A name that no other test has. */
  name(): string {
    return `dag-${++dags}`;
  }

  /** A DAG that no other test has. */
  dag(tasks: Tasks | Iterable<readonly [string, TaskDefinition]>, name = this.name()): DagDefinition {
    return defineDag(name, tasks);
  }

  /** An outbox that has not been started. */
  idle(of: readonly DagDefinition[], wishes: OutboxWishes = {}): Outbox {
    const { database, schema } = this;
    return new Outbox({ database, schema, dags: of, pollIntervalMs: 20, ...wishes });
  }

  /** An outbox that works. */
  async outbox(of: readonly DagDefinition[], wishes: OutboxWishes = {}): Promise<Outbox> {
    const outbox = this.idle(of, wishes);
    await outbox.start();
    return outbox;
  }

  /** An outbox that starts batches and runs none of their tasks. */
  starter(of: readonly DagDefinition[], wishes: OutboxWishes = {}): Promise<Outbox> {
    return this.outbox(of, { ...wishes, poll: false });
  }

  /** Runs one batch of these tasks to its end. */
  async run(
    tasks: Tasks,
    { payload, ...wishes }: OutboxWishes & { payload?: unknown } = {},
  ): Promise<{ readonly batch: Batch; readonly tasks: Readonly<Record<string, TaskView>> }> {
    const dag = this.dag(tasks);
    await using outbox = await this.outbox([dag], wishes);
    const { id } = await outbox.pusher.start(dag.name, 'once', payload);
    const batch = await this.ended(outbox, id);
    return { batch, tasks: await this.tasks(outbox, id) };
  }

  /** Waits for the end of a batch. */
  ended(outbox: Outbox, id: string): Promise<Batch> {
    return until(
      async () => {
        const batch = await outbox.batches.get(id);
        return batch.status !== 'RUNNING' && batch;
      },
      { what: `batch ${id} to end`, deadlineMs: DEADLINE_MS, intervalMs: LOOK_EVERY_MS },
    );
  }

  /** Waits until a task is as wanted. */
  taskIs(outbox: Outbox, id: string, key: string, isWanted: (task: TaskView) => boolean): Promise<TaskView> {
    return until(
      async () => {
        const task = await outbox.batches.task(id, key);
        return isWanted(task) && task;
      },
      {
        what: `task ${key} of batch ${id} to be as wanted`,
        deadlineMs: DEADLINE_MS,
        intervalMs: LOOK_EVERY_MS,
      },
    );
  }

  /** The tasks of a batch by key; up to a thousand. */
  async tasks(outbox: Outbox, id: string): Promise<Readonly<Record<string, TaskView>>> {
    const { items } = await outbox.batches.tasks(id, { limit: 1_000 });
    return Object.fromEntries(items.map((task) => [task.key, task]));
  }

  /** Rows of a statement; `{schema}` stands for the schema of the outbox. */
  async rows<R extends object>(sql: string, params: readonly SqlParameter[] = []): Promise<readonly R[]> {
    const schema = `"${this.schema.replaceAll('"', '""')}"`;
    return (await this.database.query<R>(sql.replaceAll('{schema}', schema), params)).rows;
  }

  /** How many rows there are in the tables that a start writes, and of effects. */
  async counts(): Promise<Record<'batches' | 'tasks' | 'ticks' | 'effects', number>> {
    const [row] = await this.rows<Record<'batches' | 'tasks' | 'ticks' | 'effects', number>>(
      `SELECT (SELECT count(*)::integer FROM {schema}.batch_instance) AS batches,
         (SELECT count(*)::integer FROM {schema}.outbox_evt) AS tasks,
         (SELECT count(*)::integer FROM {schema}.outbox_tick) AS ticks,
         (SELECT count(*)::integer FROM effect) AS effects`,
    );
    if (!row) throw new Error('a count gave no row');
    return row;
  }

  /** Marks that were written and committed, in alphabetical order. */
  async effects(prefix: string): Promise<readonly string[]> {
    const rows = await this.rows<{ mark: string }>(
      'SELECT mark FROM effect WHERE starts_with(mark, $1) ORDER BY mark',
      [prefix],
    );
    return rows.map(({ mark }) => mark);
  }
}

/** Leaves a mark that a rolled back transaction takes away. */
export async function leaveMark(tx: Tx, mark: string): Promise<void> {
  await tx.query('INSERT INTO effect (mark) VALUES ($1)', [mark]);
}

/** Statuses by key. */
export const statusesOf = (tasks: Readonly<Record<string, TaskSummary>>): Record<string, OutboxStatus> =>
  Object.fromEntries(Object.entries(tasks).map(([key, { status }]) => [key, status]));

/** A theme of the contract; `kind` for the few tests that only one kind of database can have. */
export type ContractSuite = (home: () => Home, kind: Database['kind']) => void;
