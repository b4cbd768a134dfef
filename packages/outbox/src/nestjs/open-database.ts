import {
  type Database,
  PgDatabase,
  type PgDatabaseOptions,
  PgliteDatabase,
  type PgliteDatabaseOptions,
} from '@millrace/postgres';
import { type OutboxOptions, poolSizeFor } from '../options.js';

/** Where the tables are: a Database of the application, or how to reach one that the module opens and stops. */
export type DatabaseSource = Database | PgDatabaseOptions | PgliteDatabaseOptions;

/** A Database, and whether the module made it. */
export interface ModuleDatabase {
  readonly database: Database;
  /** Whoever made it stops it. */
  readonly isOwn: boolean;
}

/**
 * The Database of the options, or a new one; nothing is opened yet.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `IDENTIFIER_INVALID`.
 */
export function databaseOf(
  given: DatabaseSource,
  { clock, rng, logger, concurrency }: Omit<OutboxOptions, 'database'>,
): ModuleDatabase {
  if (isDatabase(given)) return { database: given, isOwn: false };
  const shared = { clock, rng, logger };
  // By the key, not its value: an address that is missing from the environment must not become an empty database in memory.
  if (!isServer(given)) return { database: new PgliteDatabase({ ...shared, ...given }), isOwn: true };
  const poolSize = poolSizeFor(concurrency);
  return { database: new PgDatabase({ ...shared, poolSize, ...given }), isOwn: true };
}

const isDatabase = (source: DatabaseSource): source is Database =>
  ['query', 'transaction', 'listen'].every((member) => member in source);

const isServer = (source: PgDatabaseOptions | PgliteDatabaseOptions): source is PgDatabaseOptions =>
  'url' in source;
