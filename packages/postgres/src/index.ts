/**
 * PostgreSQL for Millrace: one `Database` port with a driver for servers (pg) and an embedded one (PGlite),
 * transactions that find out about a lost COMMIT, notifications, migrations, statements in files.
 *
 * @packageDocumentation
 */
export type {
  Database,
  IsolationLevel,
  Queryable,
  QueryOptions,
  QueryResult,
  Row,
  SingleQueryOptions,
  TransactionOptions,
  Tx,
} from './database.js';
export { ERRORS } from './errors.js';
export { isConflict, isSqlError, type SqlError } from './failure.js';
export { type MigrateOptions, migrate, requireMigrated } from './migrate.js';
export { Notifier, notificationChannel } from './notifier.js';
export { type TransactionOutcome, transactionOutcome } from './outcome.js';
export { PgDatabase } from './pg/database.js';
export {
  PG_DATABASE_DEFAULTS,
  type PgDatabaseOptions,
  type ResolvedPgDatabaseOptions,
  resolvePgDatabaseOptions,
} from './pg/options.js';
export { PgliteDatabase } from './pglite/database.js';
export { directoryHolder, type ProcessIdentity } from './pglite/lock.js';
export {
  PGLITE_DATABASE_DEFAULTS,
  type PgliteDatabaseOptions,
  type ResolvedPgliteDatabaseOptions,
  resolvePgliteDatabaseOptions,
} from './pglite/options.js';
export { type Statement, StatementFiles, type StatementFilesOptions } from './statement-files.js';
export { quoteIdentifier, type SqlParameter, toJson } from './values.js';
