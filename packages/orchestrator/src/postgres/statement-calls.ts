import {
  ERRORS as DATABASE_ERRORS,
  type Database,
  isSqlError,
  type QueryResult,
  type SqlParameter,
  type Tx,
} from '@millrace/postgres';
import type { Statements } from './statements.js';

/** Everybody locks in one order, so that others are seldom in the way even once. */
const CONFLICTS_MAX = 5;

const isConflict = (error: unknown): boolean => isSqlError(error, '40001') || isSqlError(error, '40P01');

/** How a statement is called. */
export interface CallOptions {
  /** Runs it in this transaction, and nowhere else: an embedded database has no other connection. */
  readonly tx?: Tx | undefined;
  /** Whether it is prepared (true); not where the best plan depends on what is given. */
  readonly prepared?: boolean | undefined;
}

/** Calls the statements of a store. Each of them may run twice: a lost reply is repeated, and so is what others were in the way of. */
export class StatementCalls {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /**
   * Calls a statement.
   * @returns its rows.
   * @throws MillraceError `BACKEND_UNAVAILABLE`, `PARAMETER_INVALID` and the others of `Queryable.query`.
   */
  async rows<R extends object>(
    verb: string,
    params: readonly SqlParameter[],
    options: CallOptions = {},
  ): Promise<readonly R[]> {
    return (await this.query<R>(verb, params, options)).rows;
  }

  /** The same with the count of rows. */
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
        const reason = 'others were in the way again and again';
        if (conflicts === CONFLICTS_MAX)
          throw DATABASE_ERRORS.create('BACKEND_UNAVAILABLE', { operation: verb, reason }, { cause: error });
      }
    }
  }
}
