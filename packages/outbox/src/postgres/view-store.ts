import type { Database } from '@millrace/postgres';
import type { Batch, BatchStatus, OutboxStatus, TaskCounts, TaskView } from '../model.js';
import { type BatchRow, type TaskRow, toBatch, toTaskView } from './rows.js';
import type { Statements } from './statements.js';

/** The backlog, and how long the oldest task has been able to run. */
export interface BacklogView extends TaskCounts {
  readonly oldestReadyAgeMs: number | undefined;
}

/** What people look at. Nothing here changes anything. */
export class ViewStore {
  readonly #database: Database;
  readonly #statements: Statements;

  /**
   * @param database - where the tables are.
   * @param statements - of their schema.
   */
  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Tasks of a batch, a page of them. */
  async tasks(
    batchId: string,
    {
      after,
      limit,
      status,
    }: { after?: string | undefined; limit: number; status?: OutboxStatus | undefined },
  ): Promise<TaskView[]> {
    const rows = await this.#rows<TaskRow>('read-tasks', [batchId, after, limit, status]);
    return rows.map(toTaskView);
  }

  /** One task. */
  async task(batchId: string, key: string): Promise<TaskView | undefined> {
    const [row] = await this.#rows<TaskRow>('read-task', [batchId, key]);
    return row && toTaskView(row);
  }

  /** Tasks of a batch by state. */
  async counts(batchId: string): Promise<TaskCounts> {
    const [row] = await this.#rows<TaskCounts>('count-by-state', [batchId]);
    return row as TaskCounts;
  }

  /** The whole backlog by state, in one query. */
  async backlog(tenant?: string): Promise<BacklogView> {
    const [row] = await this.#rows<TaskCounts & { oldest_ready_age_ms: number | null }>('read-backlog', [
      tenant,
    ]);
    const { oldest_ready_age_ms: age, ...counts } = row as TaskCounts & {
      oldest_ready_age_ms: number | null;
    };
    return { ...counts, oldestReadyAgeMs: age ?? undefined };
  }

  /** Batches, the newest first. */
  async batches(filter: {
    readonly tenant?: string | undefined;
    readonly dag?: string | undefined;
    readonly status?: BatchStatus | undefined;
    readonly bizKey?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<Batch[]> {
    const { tenant, dag, status, bizKey, before, limit } = filter;
    const rows = await this.#rows<BatchRow>('list-batches', [tenant, dag, status, bizKey, before, limit]);
    return rows.map(toBatch);
  }

  /** Tasks that failed for good, the newest first. */
  async deadLetters(filter: {
    readonly tenant?: string | undefined;
    readonly handler?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<TaskView[]> {
    const { tenant, handler, before, limit } = filter;
    const rows = await this.#rows<TaskRow>('list-dead-letters', [tenant, handler, before, limit]);
    return rows.map(toTaskView);
  }

  async #rows<R extends object>(
    verb: string,
    params: readonly (string | number | undefined)[],
  ): Promise<readonly R[]> {
    const { sql } = this.#statements.get(verb);
    const { rows } = await this.#database.query<R>(sql, params, { repeatable: true });
    return rows;
  }
}
