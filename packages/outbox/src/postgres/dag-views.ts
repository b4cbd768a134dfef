import type { Database } from '@millrace/postgres';
import type { AppliedRow, AppliedStore } from '../applied-watch.js';
import type { DagHead, DagViews } from '../dags.js';
import type { DagTaskView, DagView, FailurePolicy, JoinRule, TaskMode } from '../model.js';
import type { JoinName } from '../rules/task-counts.js';
import type { Statements } from './statements.js';

/** The statements that read stored DAGs. */
export class PostgresDagViews implements DagViews, AppliedStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async heads({
    after,
    name,
    limit,
  }: {
    readonly after?: string | undefined;
    readonly name?: string | undefined;
    readonly limit: number;
  }): Promise<readonly DagHead[]> {
    const rows = await this.#rows<HeadRow>('list-dags', [after, name, limit]);
    return rows.map(({ task_cnt, registered_at, ...row }) => ({
      ...row,
      taskCount: task_cnt,
      registeredAt: registered_at,
    }));
  }

  async withTasks(
    heads: readonly DagHead[],
    most: { readonly tasks: number; readonly edges: number },
  ): Promise<readonly DagView[]> {
    const versions = heads.map(({ version }) => version);
    const [tasks, edges] = await Promise.all([
      this.#rows<TaskDefRow>('read-task-defs', [versions, most.tasks]),
      this.#rows<EdgeRow>('read-dag-edges', [versions, most.edges + 1]),
    ]);
    const tasksOf = groupByVersion(tasks);
    const edgesOf = groupByVersion(edges);
    return heads.map((head) => {
      const own = edgesOf.get(head.version) ?? [];
      const afterOf = own.length > most.edges ? undefined : parentsByKey(own);
      return { ...head, tasks: (tasksOf.get(head.version) ?? []).map((row) => toTask(row, afterOf)) };
    });
  }

  applied(own: readonly number[], seen: readonly number[], limit: number): Promise<readonly AppliedRow[]> {
    return this.#rows<AppliedRow>('read-applied', [own, seen, limit]);
  }

  async #rows<R extends object>(
    verb: string,
    params: readonly (string | number | readonly number[] | undefined)[],
  ): Promise<readonly R[]> {
    const { sql } = this.#statements.get(verb);
    const { rows } = await this.#database.query<R>(sql, params, { repeatable: true });
    return rows;
  }
}

interface HeadRow {
  readonly name: string;
  readonly version: number;
  readonly task_cnt: number;
  readonly registered_at: Date;
  readonly applied: boolean;
}

interface TaskDefRow {
  readonly version: number;
  readonly task_key: string;
  readonly handler: string;
  readonly mode: TaskMode;
  readonly join: JoinName;
  readonly need_cnt: number;
  readonly on_failure: FailurePolicy;
  readonly conditional: boolean;
  readonly max_attempts: number;
  readonly timeout_ms: number;
  readonly backoff_ms: number;
}

interface EdgeRow {
  readonly version: number;
  readonly from_key: string;
  readonly to_key: string;
}

function groupByVersion<R extends { readonly version: number }>(rows: readonly R[]): Map<number, R[]> {
  const groups = new Map<number, R[]>();
  for (const row of rows) {
    const group = groups.get(row.version);
    if (group) group.push(row);
    else groups.set(row.version, [row]);
  }
  return groups;
}

function parentsByKey(edges: readonly EdgeRow[]): ReadonlyMap<string, readonly string[]> {
  const parents = new Map<string, string[]>();
  for (const { from_key, to_key } of edges) {
    const known = parents.get(to_key);
    if (known) known.push(from_key);
    else parents.set(to_key, [from_key]);
  }
  return parents;
}

const toTask = (
  row: TaskDefRow,
  afterOf: ReadonlyMap<string, readonly string[]> | undefined,
): DagTaskView => ({
  key: row.task_key,
  handler: row.handler,
  mode: row.mode,
  join: toJoin(row.join, row.need_cnt),
  onFailure: row.on_failure,
  conditional: row.conditional,
  timeoutMs: row.timeout_ms,
  attemptsMax: row.max_attempts,
  backoffMs: row.backoff_ms,
  after: afterOf && (afterOf.get(row.task_key) ?? []),
});

const toJoin = (join: JoinName, needed: number): JoinRule =>
  join === 'at-least' ? { atLeast: needed } : join;
