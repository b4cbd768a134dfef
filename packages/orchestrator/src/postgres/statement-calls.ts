import {
  ERRORS as DATABASE_ERRORS,
  type Database,
  isSqlError,
  type QueryResult,
  type SqlParameter,
  StatementFiles,
  type Tx,
} from '@millrace/postgres';

const VERBS = new URL('../../sql/verbs/', import.meta.url);

/** The statements of `sql/verbs`, for the schema of one store. */
export class Statements extends StatementFiles {
  /** @throws MillraceError `IDENTIFIER_INVALID`. */
  constructor(schema: string) {
    super({ part: 'orchestrator', folder: VERBS, schema });
  }
}

/** All statements lock rows in one order, so even one conflict is rare. */
const CONFLICTS_MAX = 5;

const isConflict = (error: unknown): boolean => isSqlError(error, '40001') || isSqlError(error, '40P01');

/** Options of a call. */
export interface CallOptions {
  /** Runs the statement in this transaction only. An embedded database has no other connection. */
  readonly tx?: Tx | undefined;
  /** Prepares the statement (true). false if its best plan depends on the parameters. */
  readonly prepared?: boolean | undefined;
}

/** Calls the statements of a store. Each may run twice, because it is repeated after a lost reply and after a conflict. */
export class StatementCalls {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /**
   * Calls a statement and returns its rows.
   * @throws MillraceError `BACKEND_UNAVAILABLE`, `PARAMETER_INVALID` and the others of `Queryable.query`.
   */
  async rows<R extends object>(
    verb: string,
    params: readonly SqlParameter[],
    options: CallOptions = {},
  ): Promise<readonly R[]> {
    return (await this.query<R>(verb, params, options)).rows;
  }

  /** Calls a statement and returns its rows and their count. */
  async query<R extends object>(
    verb: string,
    params: readonly SqlParameter[],
    { tx, prepared = true }: CallOptions = {},
  ): Promise<QueryResult<R>> {
    const { sql, name } = this.#statements.get(verb);
    const prepare = prepared ? { name } : {};
    if (tx) return tx.query<R>(sql, params, prepare);
    for (let conflicts = 1; ; conflicts++) {
      try {
        return await this.#database.query<R>(sql, params, { ...prepare, repeatable: true });
      } catch (error) {
        if (!isConflict(error)) throw error;
        const reason = `${CONFLICTS_MAX} attempts conflicted with other transactions`;
        if (conflicts === CONFLICTS_MAX)
          throw DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: verb, reason }, { cause: error });
      }
    }
  }
}
