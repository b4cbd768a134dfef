import { type Database, PgDatabase, PgliteDatabase } from '@millrace/postgres';
import { pgliteFolder, postgresSandbox } from '@millrace/testkit';
import { migrateOrchestrator, PostgresOperationStore } from '../src/postgres/index.js';
import type { StorePlace } from './contract/home.js';

/** Not the default one, so that a forgotten qualification is noticed. */
export const SCHEMA = 'Operations "of" tests';
const QUOTED = '"Operations ""of"" tests"';

/** A statement on the tables of the tests. */
export const inSchema = (sql: string): string => sql.replaceAll('{schema}', QUOTED);

/** An empty database of one kind, with the tables of an orchestrator in it. */
export interface StoreDatabase {
  readonly database: Database;
  /** Of the server; undefined for an embedded one. */
  readonly url: string | undefined;
  close(): Promise<void>;
}

/** Opens a database; the embedded kind needs nothing to be started. */
export async function openDatabase(kind: 'pglite' | 'postgres'): Promise<StoreDatabase> {
  const opened = kind === 'pglite' ? await openEmbedded() : await openServer();
  await opened.database.start();
  await migrateOrchestrator(opened.database, { schema: SCHEMA });
  return opened;
}

async function openEmbedded(): Promise<StoreDatabase> {
  const folder = await pgliteFolder(async (dataDir) => {
    await using database = new PgliteDatabase({ dataDir });
    await database.start();
  });
  const database = new PgliteDatabase({ dataDir: folder.dataDir });
  const close = async () => {
    await database.stop();
    folder[Symbol.dispose]();
  };
  return { database, url: undefined, close };
}

async function openServer(): Promise<StoreDatabase> {
  const sandbox = await postgresSandbox();
  const database = new PgDatabase({ url: sandbox.url });
  const close = async () => {
    await database.stop();
    await sandbox.drop();
  };
  return { database, url: sandbox.url, close };
}

/** Puts a clock that stands still in the place of the server's: the one function that reads the time, and nothing else. */
export async function holdTime(database: Database, now: number): Promise<(now: number) => Promise<void>> {
  const set = async (ms: number) => {
    await database.query(inSchema('UPDATE {schema}.test_clock SET now = $1::timestamptz'), [new Date(ms)]);
  };
  await database.query(inSchema('CREATE TABLE {schema}.test_clock (now timestamptz)'));
  await database.query(inSchema('INSERT INTO {schema}.test_clock VALUES (now())'));
  await database.query(
    inSchema(
      `CREATE OR REPLACE FUNCTION {schema}.operation_now() RETURNS timestamptz LANGUAGE sql VOLATILE
       AS 'SELECT now FROM {schema}.test_clock'`,
    ),
  );
  await set(now);
  return set;
}

/** A store in PostgreSQL whose time stands still, for the contract. */
export const databasePlace = (kind: 'pglite' | 'postgres'): StorePlace => ({
  kind,
  async open() {
    const { database, close } = await openDatabase(kind);
    let now = Date.UTC(2026, 0, 1);
    const setTime = await holdTime(database, now);
    const store = new PostgresOperationStore({ database, schema: SCHEMA });
    await store.start();
    return {
      store,
      clear: async () => {
        await database.query(inSchema('DELETE FROM {schema}.operation'));
      },
      moveTime: (ms) => {
        now += ms;
        return setTime(now);
      },
      transaction: (fn) => database.transaction(fn),
      close: async () => {
        await store.stop();
        await close();
      },
    };
  },
});
