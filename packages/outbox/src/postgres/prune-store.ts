import type { Database, Tx } from '@millrace/postgres';
import type { Statements } from './statements.js';

/** A batch that may be deleted, while nobody else can touch it. */
export interface EndedBatch {
  readonly id: string;
  readonly taskCount: number;
}

/** How much was deleted. */
export interface Pruned {
  readonly batches: number;
  readonly tasks: number;
}

/** The statements that forget what is old. */
export class PruneStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Locks batches that ended longer ago than that, oldest first; those that somebody else has locked are passed over. */
  async lockEnded(tx: Tx, keptMs: number, limit: number): Promise<readonly EndedBatch[]> {
    const { rows } = await tx.query<{ id: string; task_cnt: number }>(
      this.#statements.get('lock-ended').sql,
      [keptMs, limit],
    );
    return rows.map(({ id, task_cnt }) => ({ id, taskCount: task_cnt }));
  }

  /** Deletes locked batches with all that belongs to them. */
  async deleteBatches(tx: Tx, ids: readonly string[]): Promise<Pruned> {
    const { rows } = await tx.query<Pruned>(this.#statements.get('delete-batches').sql, [ids]);
    return rows[0] as Pruned;
  }

  /** Says which versions an instance that runs has; gives those that are stored. */
  async keepDags(versions: readonly number[]): Promise<readonly number[]> {
    const { sql } = this.#statements.get('keep-dags');
    const { rows } = await this.#database.query<{ version: number }>(sql, [versions], { repeatable: true });
    return rows.map(({ version }) => version);
  }

  /** Forgets versions that no instance has had for that long and no batch uses; gives them. */
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
