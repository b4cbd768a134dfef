import { type Database, type SqlParameter, StatementFiles } from '@millrace/postgres';
import { Inject, Injectable } from '@nestjs/common';
import { PARTS, type ServerParts } from '../compose/parts.js';

const VERBS = new URL('../../sql/verbs/', import.meta.url);

/** No statement here is worth a longer wait: what is told is told again, and who asks has a budget. */
const CALL_MS = 2_000;

/** The statements on the tables of the server: see docs/server-store.md. */
@Injectable()
export class ServerTables {
  readonly #database: Database;
  readonly #statements: StatementFiles;

  constructor(@Inject(PARTS) { database, config }: Pick<ServerParts, 'database' | 'config'>) {
    this.#database = database;
    this.#statements = new StatementFiles({ part: 'server', folder: VERBS, schema: config.schema });
  }

  /**
   * Runs a statement that may run twice.
   * @returns its rows.
   * @throws MillraceError `BACKEND_UNAVAILABLE`; the error of PostgreSQL.
   */
  async rows<R extends object>(verb: string, params: readonly SqlParameter[] = []): Promise<readonly R[]> {
    const { rows } = await this.#run<R>(verb, params, true);
    return rows;
  }

  /**
   * Runs a statement that may run twice.
   * @returns how many rows it changed.
   * @throws MillraceError `BACKEND_UNAVAILABLE`; the error of PostgreSQL.
   */
  async change(verb: string, params: readonly SqlParameter[] = []): Promise<number> {
    const { rowCount } = await this.#run(verb, params, true);
    return rowCount;
  }

  /**
   * Runs a statement that makes one row, and must not run twice.
   * @returns the row.
   * @throws MillraceError `BACKEND_UNAVAILABLE`: it may have run; the error of PostgreSQL.
   */
  async once<R extends object>(verb: string, params: readonly SqlParameter[]): Promise<R> {
    const { rows } = await this.#run<R>(verb, params, false);
    return rows[0] as R;
  }

  #run<R extends object>(verb: string, params: readonly SqlParameter[], repeatable: boolean) {
    const { sql } = this.#statements.get(verb);
    return this.#database.query<R>(sql, params, { timeoutMs: CALL_MS, repeatable });
  }
}
