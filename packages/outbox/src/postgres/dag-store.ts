import { createHash } from 'node:crypto';
import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import type { ApplyStore, StoredDag } from '../dags.js';
import type { DagVersions } from '../registry.js';
import { definitionText } from '../rules/definition-text.js';
import { handlerName } from '../rules/names.js';
import { countsAnyEnd, isWide } from '../rules/task-counts.js';
import { dagInvalid, type ValidDag, type ValidTask } from '../rules/validate-dag.js';
import type { Statements } from './statements.js';

/** Enough for the largest definition on a busy server. A small one takes milliseconds. */
const SAVE_TIMEOUT_MS = 120_000;

/** The statements about versions of DAGs. */
export class PostgresDagStore implements ApplyStore, DagVersions {
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
