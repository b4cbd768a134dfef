import type { Database } from '@millrace/postgres';
import type { HorizonHolder, HorizonStore } from '../vacuum-watch.js';
import type { Statements } from './statements.js';

/** Asks the server what holds back vacuum. */
export class PostgresHorizonStore implements HorizonStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  async holders(): Promise<readonly HorizonHolder[]> {
    const { sql } = this.#statements.get('read-horizon');
    const { rows } = await this.#database.query<HorizonRow>(sql, [], { repeatable: true });
    return rows.map(({ kind, name, xmin, age_ms, username, application, state }) => ({
      ...{ kind, name, xmin, ageMs: age_ms ?? undefined },
      ...{
        username: username ?? undefined,
        application: application ?? undefined,
        state: state ?? undefined,
      },
    }));
  }
}

interface HorizonRow {
  readonly kind: HorizonHolder['kind'];
  readonly name: string;
  readonly xmin: string;
  readonly age_ms: number | null;
  readonly username: string | null;
  readonly application: string | null;
  readonly state: string | null;
}
