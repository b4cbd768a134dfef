import type { Database } from '@millrace/postgres';
import type { Statements } from './statements.js';

/** Something that keeps vacuum from removing dead rows. */
export interface HorizonHolder {
  readonly kind: 'transaction' | 'prepared transaction' | 'replication slot' | 'standby';
  /** Process id, or the name it was given. */
  readonly name: string;
  /** The oldest transaction it may still want to see. */
  readonly xmin: string;
  /** Undefined where the server does not know. */
  readonly ageMs: number | undefined;
  readonly username: string | undefined;
  readonly application: string | undefined;
  /** What a connection is doing, such as `idle in transaction`. */
  readonly state: string | undefined;
}

/** Asks the server what holds back vacuum. */
export class HorizonStore {
  readonly #database: Database;
  readonly #statements: Statements;

  constructor(database: Database, statements: Statements) {
    this.#database = database;
    this.#statements = statements;
  }

  /** Everything that holds it back in this database, as far as this user may see it. */
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
