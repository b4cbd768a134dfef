import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { latch, type PgliteFolder, pgliteFolder, postgresSandbox, until } from '@millrace/testkit';
import { afterEach, beforeEach } from 'vitest';
import {
  type Database,
  PgDatabase,
  type PgDatabaseOptions,
  PgliteDatabase,
  type PgliteDatabaseOptions,
  type Queryable,
  type Tx,
} from '../src/index.js';

/** Options that both drivers have. */
export type SharedOptions = Omit<PgliteDatabaseOptions, 'dataDir' | 'slowTransactionMs'> &
  Omit<PgDatabaseOptions, 'url'>;

/** An empty place for databases of one kind, for one test file. */
export interface DatabasePlace extends AsyncDisposable {
  /** Opens the same data at each call. PGlite must be closed before it is opened again. */
  open(options?: Partial<SharedOptions>): Database;
}

export async function postgresPlace(): Promise<DatabasePlace> {
  const sandbox = await postgresSandbox();
  return {
    open: (options = {}) => new PgDatabase({ url: sandbox.url, ...options }),
    [Symbol.asyncDispose]: () => sandbox.drop(),
  };
}

export async function pglitePlace(): Promise<DatabasePlace> {
  const folder = await newPgliteFolder();
  return {
    open: (options = {}) => new PgliteDatabase({ dataDir: folder.dataDir, ...(options as object) }),
    [Symbol.asyncDispose]: async () => folder[Symbol.dispose](),
  };
}

export function newPgliteFolder(): Promise<PgliteFolder> {
  return pgliteFolder(async (dataDir) => {
    await using database = new PgliteDatabase({ dataDir });
    await database.start();
  });
}

/** Makes a folder for each test and removes it afterwards. Returns a function that returns its path. */
export function folderPerTest(): () => string {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-test-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  return () => folder;
}

/** Waits for a failure and returns it. Returns undefined after a success. */
export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );

/** Opens a transaction, runs `work` in it and keeps it open until `end` is called. `thrown` is what it throws. */
export async function openTransaction(
  database: Database,
  work: (tx: Tx) => Promise<unknown> = async () => {},
) {
  const [opened, ended] = [latch<Tx>('the transaction is open'), latch('the transaction may end')];
  const thrown = failure(
    database.transaction(async (tx) => {
      await work(tx);
      opened.open(tx);
      await ended.promise;
    }),
  );
  const end = () => {
    ended.open();
    return thrown;
  };
  return { tx: await opened.wait(10_000), thrown, end };
}

export const notify = (database: Queryable, channel: string, payload: string) =>
  database.query('SELECT pg_notify($1, $2)', [channel, payload]);

/** Repeats a NOTIFY until a handler has got it: its listening connection may not be open yet. */
export const untilHeard = (database: Queryable, channel: string, got: readonly string[], payload: string) =>
  until(() => notify(database, channel, payload).then(() => got.includes(payload)), {
    what: `NOTIFY ${payload}`,
    deadlineMs: 10_000,
  });
