import type { Database } from '@millrace/postgres';
import type { WorkerView } from '../model.js';
import type { Statements } from './statements.js';

/** The statements about who polls. */
export class WorkerStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Says that a worker is there. */
  async note({
    workerId,
    dags,
    concurrency,
  }: Pick<WorkerView, 'workerId' | 'dags' | 'concurrency'>): Promise<void> {
    const { sql } = this.#statements.get('note-worker');
    await this.#database.query(sql, [workerId, dags, concurrency], { repeatable: true });
  }

  /** Forgets those that nobody has heard of for long, and a worker that ends. */
  async forget(workerId?: string): Promise<void> {
    await this.#database.query(this.#statements.get('forget-worker').sql, [workerId], { repeatable: true });
  }

  /** Who polls; alive if heard of within that time. */
  async list(aliveMs: number): Promise<WorkerView[]> {
    const { sql } = this.#statements.get('list-workers');
    const { rows } = await this.#database.query<WorkerRow>(sql, [aliveMs], { repeatable: true });
    return rows.map((row) => ({
      workerId: row.worker_id,
      dags: row.dags,
      concurrency: row.concurrency,
      startedAt: row.started_at,
      seenAt: row.seen_at,
      alive: row.alive,
    }));
  }
}

interface WorkerRow {
  readonly worker_id: string;
  readonly dags: readonly string[];
  readonly concurrency: number;
  readonly started_at: Date;
  readonly seen_at: Date;
  readonly alive: boolean;
}
