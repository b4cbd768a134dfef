import type { Database, Tx } from '@millrace/postgres';
import type { Pruned, PruneStore } from '../pruner.js';
import type { Statements } from './statements.js';

/** The statements that delete old batches and versions. */
export class PostgresPruneStore implements PruneStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async lockEnded(tx: Tx, keptMs: number, limit: number): ReturnType<PruneStore['lockEnded']> {
    const { rows } = await tx.query<{ id: string; task_cnt: number }>(
      this.#statements.get('lock-ended').sql,
      [keptMs, limit],
    );
    return rows.map(({ id, task_cnt }) => ({ id, taskCount: task_cnt }));
  }

  async deleteBatches(tx: Tx, ids: readonly string[]): Promise<Pruned> {
    const { rows } = await tx.query<Pruned>(this.#statements.get('delete-batches').sql, [ids]);
    return rows[0] as Pruned;
  }

  deleteOldDags(keptMs: number, limit: number): Promise<readonly number[]> {
    return this.#database.transaction(async (tx) => {
      const old = await tx.query<{ version: number }>(this.#statements.get('lock-old-dags').sql, [
        keptMs,
        limit,
      ]);
      const versions = old.rows.map(({ version }) => version);
      if (versions.length === 0) return [];
      const { sql } = this.#statements.get('delete-dags');
      const { rows } = await tx.query<{ version: number }>(sql, [versions]);
      return rows.map(({ version }) => version);
    });
  }
}
