import type { Database } from '@millrace/postgres';
import type { WorkerView } from '../model.js';
import type { WorkerStore } from '../presence.js';
import type { Statements } from './statements.js';

/** The statements about workers. */
export class PostgresWorkerStore implements WorkerStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async note({
    workerId,
    dags,
    concurrency,
  }: Pick<WorkerView, 'workerId' | 'dags' | 'concurrency'>): Promise<void> {
    const { sql } = this.#statements.get('note-worker');
    await this.#database.query(sql, [workerId, dags, concurrency], { repeatable: true });
  }

  async forget(workerId?: string): Promise<void> {
    await this.#database.query(this.#statements.get('forget-worker').sql, [workerId], { repeatable: true });
  }

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

  async keepDags(versions: readonly number[]): Promise<readonly number[]> {
    const { sql } = this.#statements.get('keep-dags');
    const { rows } = await this.#database.query<{ version: number }>(sql, [versions], { repeatable: true });
    return rows.map(({ version }) => version);
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
