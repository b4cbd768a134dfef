import { type PgliteFolder, pgliteFolder, postgresSandbox } from '@millrace/testkit';
import {
  type Database,
  PgDatabase,
  type PgDatabaseOptions,
  PgliteDatabase,
  type PgliteDatabaseOptions,
} from '../src/index.js';

/** Options that both drivers have. */
export type SharedOptions = Omit<PgliteDatabaseOptions, 'dataDir' | 'slowTransactionMs'> &
  Omit<PgDatabaseOptions, 'url'>;

/** An empty place for databases of one kind, for one test file. */
export interface DatabasePlace extends AsyncDisposable {
  readonly kind: Database['kind'];
  /** Opens the same data again and again; the embedded kind only when it was closed. */
  open(options?: Partial<SharedOptions>): Database;
}

export async function postgresPlace(): Promise<DatabasePlace> {
  const sandbox = await postgresSandbox();
  return {
    kind: 'postgres',
    open: (options = {}) => new PgDatabase({ url: sandbox.url, ...options }),
    [Symbol.asyncDispose]: () => sandbox.drop(),
  };
}

export async function pglitePlace(): Promise<DatabasePlace> {
  const folder = await newPgliteFolder();
  return {
    kind: 'pglite',
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

export const failure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
