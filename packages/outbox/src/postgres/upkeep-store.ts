import type { Database, Tx } from '@millrace/postgres';
import type { WorkerView } from '../model.js';
import type { WorkerStore } from '../presence.js';
import type { Pruned, PruneStore } from '../pruner.js';
import type { HorizonHolder, HorizonStore } from '../vacuum-watch.js';
import type { Statements } from './statements.js';

/** The statements of the upkeep: workers, pruning, and what holds back vacuum. */
export class PostgresUpkeepStore implements WorkerStore, PruneStore, HorizonStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async noteWorker({
    workerId,
    dags,
    concurrency,
  }: Pick<WorkerView, 'workerId' | 'dags' | 'concurrency'>): Promise<void> {
    const { sql } = this.#statements.get('note-worker');
    await this.#database.query(sql, [workerId, dags, concurrency], { repeatable: true });
  }

  async forgetWorkers(workerId?: string): Promise<void> {
    await this.#database.query(this.#statements.get('forget-worker').sql, [workerId], { repeatable: true });
  }

  async listWorkers(aliveMs: number): Promise<WorkerView[]> {
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

  async holders(): Promise<readonly HorizonHolder[]> {
    const { sql } = this.#statements.get('read-horizon');
    const { rows } = await this.#database.query<HorizonRow>(sql, [], { repeatable: true });
    return rows.map(({ kind, name, xmin, age_ms, username, application, state }) => ({
      ...{ kind, name, xmin, ageMs: age_ms ?? undefined },
      ...{
        username: username ?? undefined,
        application: application ?? undefined,
        state: state ?? undefined,
      },
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

interface HorizonRow {
  readonly kind: HorizonHolder['kind'];
  readonly name: string;
  readonly xmin: string;
  readonly age_ms: number | null;
  readonly username: string | null;
  readonly application: string | null;
  readonly state: string | null;
}
