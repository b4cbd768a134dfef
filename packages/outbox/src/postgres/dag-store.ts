import { createHash } from 'node:crypto';
import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import type { AppliedRow, AppliedStore } from '../applied-watch.js';
import type { DagHead, DagStore, StoredDag } from '../dags.js';
import type { DagTaskView, DagView, FailurePolicy, JoinRule, TaskMode } from '../model.js';
import type { DagVersions } from '../registry.js';
import { definitionText } from '../rules/definition-text.js';
import { handlerName } from '../rules/names.js';
import { countsAnyEnd, isWide, type JoinName } from '../rules/task-counts.js';
import { dagInvalid, type ValidDag, type ValidTask } from '../rules/validate-dag.js';
import type { Statements } from './statements.js';

/** Enough for the largest definition on a busy server. A small one takes milliseconds. */
const SAVE_TIMEOUT_MS = 120_000;

/** The statements about DAGs and their versions. */
export class PostgresDagStore implements DagStore, DagVersions, AppliedStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async save(dag: ValidDag, again = false): Promise<number> {
    return this.#transaction(async (tx) => {
      const { version, created } = await this.#store(tx, dag);
      if (created && !again) await tx.query(this.#statements.get('displace-applied').sql, [dag.name]);
      return version;
    });
  }

  async apply(
    dag: ValidDag,
    {
      inForceMax,
      channel,
      hint,
    }: { readonly inForceMax: number; readonly channel: string; readonly hint: string },
  ): Promise<StoredDag> {
    return this.#transaction(async (tx) => {
      const stored = await this.#store(tx, dag);
      const { sql } = this.#statements.get('put-in-force');
      const { rows } = await tx.query(sql, [dag.name, stored.version, inForceMax, channel, hint]);
      if (rows.length > 0) return stored;
      const limit = `${inForceMax} other DAGs have been applied, the most there may be`;
      throw dagInvalid(dag.name, `${limit}; apply it under the name of one that is no longer needed`);
    });
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

  #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#database.transaction(work, { timeoutMs: SAVE_TIMEOUT_MS });
  }

  async #store(tx: Tx, dag: ValidDag): Promise<StoredDag> {
    const hash = createHash('sha256').update(definitionText(dag)).digest('hex');
    for (;;) {
      const known = await this.#versionFrom(tx, 'touch-dag', [dag.name, hash]);
      if (known !== undefined) return { version: known, created: false };
      const version = await this.#versionFrom(tx, 'insert-dag', [dag.name, hash, ...columnsOf(dag)]);
      if (version !== undefined) return { version, created: true };
      // Another instance stored it between the two statements, so touching it works now.
    }
  }

  async #versionFrom(tx: Tx, verb: string, params: readonly SqlParameter[]): Promise<number | undefined> {
    const { sql, name } = this.#statements.get(verb);
    const { rows } = await tx.query<{ version: number }>(sql, params, { name });
    return rows[0]?.version;
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

/** $3 to $17 of insert-dag.sql. */
function columnsOf({ name, tasks }: ValidDag): readonly SqlParameter[] {
  const column = <T>(of: (task: ValidTask) => T): readonly T[] => tasks.map(of);
  const edges = tasks.flatMap(({ key, after, join }) => {
    const [wide, anyEnd] = [isWide(after.length), countsAnyEnd(join)];
    return after.map((from) => ({ from, to: key, wide, anyEnd }));
  });
  return [
    column(({ key }) => key),
    column(({ key, handler }) => handler ?? handlerName(name, key)),
    column(({ mode }) => mode),
    column(({ join }) => join),
    column(({ needed }) => needed),
    column(({ after }) => after.length),
    column(({ onFailure }) => onFailure),
    column(({ when }) => when !== undefined),
    column(({ retry }) => retry.retries + 1),
    column(({ timeoutMs }) => timeoutMs),
    column(({ backoffMs }) => backoffMs),
    edges.map(({ from }) => from),
    edges.map(({ to }) => to),
    edges.map(({ wide }) => wide),
    edges.map(({ anyEnd }) => anyEnd),
  ];
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
