import { createHash } from 'node:crypto';
import type { Database, SqlParameter, Tx } from '@millrace/postgres';
import { definitionText } from '../rules/definition-text.js';
import { handlerName } from '../rules/handler-name.js';
import { countsAnyEnd, isWide } from '../rules/task-counts.js';
import type { ValidDag, ValidTask } from '../rules/validate-dag.js';
import type { Statements } from './statements.js';

/** For the largest definition on a busy server; a small one takes milliseconds. */
const SAVE_TIMEOUT_MS = 120_000;

/** Where the versions of DAGs are kept. */
export class DagStore {
  readonly #database: Database;
  readonly #statements: Statements;

  /**
   * @param database - migrated.
   * @param statements - of the schema.
   */
  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /**
   * Stores a DAG, unless this very definition is stored already, and notes that it is in use. Whatever instances do so
   * at once, all get the same version; it may be repeated at any time.
   * @param dag - the definition.
   * @returns its version.
   * @throws MillraceError `BACKEND_UNAVAILABLE`, `COMMIT_UNKNOWN` and others of `transaction`.
   */
  async save(dag: ValidDag): Promise<number> {
    const hash = createHash('sha256').update(definitionText(dag)).digest('hex');
    return this.#database.transaction(
      async (tx) => {
        for (;;) {
          const version =
            (await this.#versionFrom(tx, 'touch-dag', [dag.name, hash])) ??
            (await this.#versionFrom(tx, 'insert-dag', [dag.name, hash, ...columnsOf(dag)]));
          // Neither: another instance stored it between the two, so now it can be touched.
          if (version !== undefined) return version;
        }
      },
      { timeoutMs: SAVE_TIMEOUT_MS },
    );
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
    column(({ key }) => handlerName(name, key)),
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
