import { type Database, PgDatabase, type PgDatabaseOptions, PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder, postgresSandbox } from '@millrace/testkit';
import { migrateOutbox } from '../src/migrate.js';

/** An empty place for databases of one kind. */
interface DatabasePlace extends AsyncDisposable {
  /** Opens the same data again and again; the embedded kind only while it is closed. */
  open(options?: DatabaseOptions): Database;
}

/** What a test may want of a database; the embedded kind passes over what only a server has. */
export type DatabaseOptions = Partial<Omit<PgDatabaseOptions, 'url' | 'schema'>>;

/** A database with the tables of an outbox in it. Disposing of it stops what was opened and removes the data. */
export interface OutboxDatabase extends AsyncDisposable {
  readonly database: Database;
  readonly schema: string;
  /** Another Database on the same data, as a second process would have; a server's only. */
  openAnother(options?: DatabaseOptions): Database;
}

/** One way to run PostgreSQL. */
export interface PlaceKind {
  readonly kind: Database['kind'];
  make(): Promise<DatabasePlace>;
}

export const pglitePlace: PlaceKind = {
  kind: 'pglite',
  async make() {
    const folder = await pgliteFolder(async (dataDir) => {
      await using database = new PgliteDatabase({ dataDir });
      await database.start();
    });
    return {
      open: ({ callTimeoutMs, transactionTimeoutMs, clock, logger } = {}) =>
        new PgliteDatabase({ dataDir: folder.dataDir, callTimeoutMs, transactionTimeoutMs, clock, logger }),
      [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
    };
  },
};

export const postgresPlace: PlaceKind = {
  kind: 'postgres',
  async make() {
    const sandbox = await postgresSandbox();
    return {
      open: (options = {}) => new PgDatabase({ url: sandbox.url, ...options }),
      [Symbol.asyncDispose]: () => sandbox.drop(),
    };
  },
};

/** For `describe.each(places)('… on $kind', (place) => …)`. */
export const places: readonly PlaceKind[] = [pglitePlace, postgresPlace];

/**
 * Opens a new database and makes the tables of an outbox in it.
 * @param place - PGlite unless given: nothing has to be started for it.
 * @param options - of the database, and the schema (not the default one, so that a forgotten qualification is noticed).
 */
export async function openOutboxDatabase(
  place: PlaceKind = pglitePlace,
  { schema = 'Outbox "of" tests', ...options }: DatabaseOptions & { schema?: string } = {},
): Promise<OutboxDatabase> {
  const made = await place.make();
  const opened: Database[] = [];
  const open = (given: DatabaseOptions): Database => {
    const database = made.open(given);
    opened.push(database);
    return database;
  };
  const close = async (): Promise<void> => {
    try {
      await Promise.all(opened.map((database) => database.stop()));
    } finally {
      await made[Symbol.asyncDispose]();
    }
  };
  try {
    const database = open(options);
    await database.start();
    await migrateOutbox(database, { schema });
    return {
      database,
      schema,
      openAnother: (given = {}) => open({ ...options, ...given }),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
