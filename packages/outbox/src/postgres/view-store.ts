import type { Database, Tx } from '@millrace/postgres';
import type {
  BacklogView,
  Batch,
  BatchEnding,
  BatchStatus,
  BatchSummary,
  OutboxStatus,
  TaskCounts,
  TaskError,
  TaskSummary,
  TaskView,
} from '../model.js';
import type { ViewStore } from '../ports.js';
import type { TaskTimes } from '../rules/task-times.js';
import {
  type BatchSummaryRow,
  type TaskRow,
  type TaskSummaryRow,
  toBatchSummary,
  toTaskSummary,
  toTaskView,
} from './rows.js';
import type { Statements } from './statements.js';

/** The statements that read batches and tasks. */
export class PostgresViewStore implements ViewStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async tasks(
    batchId: string,
    asked: {
      readonly after?: string | undefined;
      readonly limit: number;
      readonly status?: OutboxStatus | undefined;
      readonly bytesMax: number;
    },
  ): Promise<{ readonly tasks: readonly TaskView[]; readonly isCut: boolean }> {
    const { after, limit, status, bytesMax } = asked;
    const params = [batchId, after, limit, status, bytesMax];
    const rows = await this.#rows<TaskRow & { asked_cnt: number }>('read-tasks', params);
    return { tasks: rows.map(toTaskView), isCut: rows.length < (rows[0]?.asked_cnt ?? 0) };
  }

  async firstTasks(batchId: string, limit: number): Promise<TaskSummary[]> {
    return (await this.#rows<TaskSummaryRow>('list-tasks', [batchId, limit])).map(toTaskSummary);
  }

  async task(batchId: string, key: string): Promise<TaskView | undefined> {
    const [row] = await this.#rows<TaskRow>('read-task', [batchId, key]);
    return row && toTaskView(row);
  }

  async counts(batchId: string): Promise<TaskCounts> {
    const [row] = await this.#rows<TaskCounts>('count-by-state', [batchId]);
    return row as TaskCounts;
  }

  async times(
    { id, dag }: Batch,
    { batches, tasksMax }: { readonly batches: number; readonly tasksMax: number },
  ): Promise<{ readonly tasks: readonly TaskTimes[]; readonly usualMs: ReadonlyMap<string, number> }> {
    const [own, usual] = await Promise.all([
      this.#rows<TimesRow>('read-times', [id]),
      this.#rows<{ handler: string; ms: number }>('read-usual-times', [dag, batches, tasksMax]),
    ]);
    const tasks = own.map((row) => ({
      key: row.task_key,
      handler: row.handler,
      status: row.status,
      ranMs: row.ran_ms ?? undefined,
      delayMs: row.delay_ms,
    }));
    return { tasks, usualMs: new Map(usual.map(({ handler, ms }) => [handler, ms])) };
  }

  async edges({ id, dagVersion }: Batch): Promise<readonly (readonly [from: string, to: string])[]> {
    const rows = await this.#rows<{ from_key: string; to_key: string }>('read-edges', [id, dagVersion]);
    return rows.map(({ from_key, to_key }) => [from_key, to_key] as const);
  }

  async backlog(tenant?: string): Promise<BacklogView> {
    const [row] = await this.#rows<TaskCounts & { oldest_ready_age_ms: number | null }>('read-backlog', [
      tenant,
    ]);
    const { oldest_ready_age_ms: age, ...counts } = row as TaskCounts & {
      oldest_ready_age_ms: number | null;
    };
    return { ...counts, oldestReadyAgeMs: age ?? undefined };
  }

  async batches(filter: {
    readonly tenant?: string | undefined;
    readonly dag?: string | undefined;
    readonly status?: BatchStatus | undefined;
    readonly bizKey?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<BatchSummary[]> {
    const { tenant, dag, status, bizKey, before, limit } = filter;
    const params = [tenant, dag, status, bizKey, before, limit];
    return (await this.#rows<BatchSummaryRow>('list-batches', params)).map(toBatchSummary);
  }

  async endings(ids: readonly string[], bytesMax: number, tx?: Tx): Promise<BatchEnding[]> {
    const { sql, name } = this.#statements.get('read-endings');
    const params = [ids, bytesMax];
    const { rows } = await (tx
      ? tx.query<EndingRow>(sql, params, { name })
      : this.#database.query<EndingRow>(sql, params, { name, repeatable: true }));
    return rows.map(({ id, status, results, task_key, error }) => ({
      id,
      status,
      results: results ?? undefined,
      failure: task_key === null ? undefined : { task: task_key, error: error ?? undefined },
    }));
  }

  async deadLetters(filter: {
    readonly tenant?: string | undefined;
    readonly handler?: string | undefined;
    readonly before?: string | undefined;
    readonly limit: number;
  }): Promise<TaskSummary[]> {
    const { tenant, handler, before, limit } = filter;
    const rows = await this.#rows<TaskSummaryRow>('list-dead-letters', [tenant, handler, before, limit]);
    return rows.map(toTaskSummary);
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

interface EndingRow {
  readonly id: string;
  readonly status: BatchStatus;
  readonly results: Readonly<Record<string, unknown>> | null;
  readonly task_key: string | null;
  readonly error: TaskError | null;
}

interface TimesRow {
  readonly task_key: string;
  readonly handler: string;
  readonly status: OutboxStatus;
  readonly ran_ms: number | null;
  readonly delay_ms: number;
}
