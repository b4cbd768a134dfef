import type { Database, Queryable, Tx } from '@millrace/postgres';
import type { Batch, FailurePolicy, OutboxStatus } from '../model.js';
import type { BatchStore, LockedBatch, NewBatch } from '../ports.js';
import type { BatchState, Need, ReopenedTask } from '../rules/reopen.js';
import { type BatchRow, toBatch } from './rows.js';
import type { Statements } from './statements.js';

/** The statements about whole batches. */
export class PostgresBatchStore implements BatchStore {
  readonly #database: Database;
  readonly #statements: Statements;
  readonly #channel: string;

  constructor(database: Database, statements: Statements, channel: string) {
    this.#database = database;
    this.#statements = statements;
    this.#channel = channel;
  }

  async start(batch: NewBatch, tx?: Tx, timeoutMs?: number): Promise<Batch | undefined> {
    const { sql, name } = this.#statements.get('start-batch');
    const { tenant, dag, version, bizKey, payload, traceparent, rerun, schedule } = batch;
    const { rows } = await (tx ?? this.#database).query<BatchRow>(
      sql,
      [tenant, dag, version, bizKey, payload, traceparent, rerun, schedule, tx && this.#channel],
      { name, ...(tx || timeoutMs === undefined ? {} : { timeoutMs }) },
    );
    return rows[0] && toBatch(rows[0]);
  }

  async find(
    { tenant, dag, bizKey }: { readonly tenant: string; readonly dag: string; readonly bizKey: string },
    source: Queryable = this.#database,
  ): Promise<Batch | undefined> {
    const { sql } = this.#statements.get('find-batch');
    const { rows } = await source.query<BatchRow>(sql, [tenant, dag, bizKey]);
    return rows[0] && toBatch(rows[0]);
  }

  async get(id: string): Promise<Batch | undefined> {
    const { sql } = this.#statements.get('get-batch');
    const { rows } = await this.#database.query<BatchRow>(sql, [id], { repeatable: true });
    return rows[0] && toBatch(rows[0]);
  }

  async hasDag(name: string, source: Queryable = this.#database): Promise<boolean> {
    const { rows } = await source.query<{ known: boolean }>(this.#statements.get('dag-exists').sql, [name]);
    return rows[0]?.known ?? false;
  }

  async lock(tx: Tx, id: string): Promise<Batch | undefined> {
    const { rows } = await tx.query<BatchRow>(this.#statements.get('lock-batch').sql, [id]);
    return rows[0] && toBatch(rows[0]);
  }

  async abort(tx: Tx, id: string): Promise<Batch> {
    await tx.query(this.#statements.get('abort-batch').sql, [id]);
    await tx.query(this.#statements.get('close-batch').sql, [id]);
    const [batch] = await this.countTasks(tx, [id]);
    return batch as Batch;
  }

  async countTasks(tx: Tx, ids: readonly string[]): Promise<Batch[]> {
    const { rows } = await tx.query<BatchRow>(this.#statements.get('count-tasks').sql, [ids]);
    return rows.map(toBatch);
  }

  async lockTasks(tx: Tx, { id, dagVersion }: Batch): Promise<LockedBatch> {
    const tasks = await tx.query<LockedTaskRow>(this.#statements.get('lock-tasks').sql, [id]);
    const edges = await tx.query<{ from_key: string; to_key: string }>(
      this.#statements.get('read-edges').sql,
      [id, dagVersion],
    );
    const joins = await tx.query<{ task_key: string; join: string; need_cnt: number }>(
      this.#statements.get('read-joins').sql,
      [dagVersion],
    );
    const state: BatchState = {
      tasks: tasks.rows.map((row) => ({
        key: row.task_key,
        status: row.status,
        skippedBy: row.skipped_by ?? undefined,
        onFailure: row.on_failure,
        pre: row.pre_cnt,
        open: row.open_cnt,
      })),
      edges: edges.rows.map((row) => [row.from_key, row.to_key] as const),
      needs: new Map(joins.rows.map((row) => [row.task_key, toNeed(row.join, row.need_cnt)])),
    };
    return { state, idOf: new Map(tasks.rows.map((row) => [row.task_key, row.id])) };
  }

  async reopen(
    tx: Tx,
    batch: Batch,
    {
      tasks,
      failing,
      idOf,
    }: { tasks: readonly ReopenedTask[]; failing: boolean; idOf: ReadonlyMap<string, string> },
  ): Promise<Batch> {
    await tx.query(this.#statements.get('reopen-tasks').sql, [
      tasks.map(({ key }) => idOf.get(key)),
      tasks.map(({ pre }) => pre),
      tasks.map(({ open }) => open),
      tasks.map(({ status }) => status),
      tasks.map(({ again }) => again),
      tasks.map(({ opened }) => opened),
    ]);
    const { rows } = await tx.query<BatchRow>(this.#statements.get('reopen-batch').sql, [
      batch.id,
      failing,
      this.#channel,
    ]);
    return toBatch(rows[0] as BatchRow);
  }
}

interface LockedTaskRow {
  readonly id: string;
  readonly task_key: string;
  readonly status: OutboxStatus;
  readonly skipped_by: 'condition' | 'cascade' | null;
  readonly on_failure: FailurePolicy;
  readonly pre_cnt: number;
  readonly open_cnt: number;
}

const toNeed = (join: string, successes: number): Need => ({ successes, ends: join === 'all-done' });
