/**
 * PostgreSQL beneath Millrace: one `Database` port with a driver for servers (pg) and an embedded one (PGlite),
 * transactions that tell the truth about their COMMIT, listening, migrations.
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
export { type MigrationFile, readMigrations } from './migration-files.js';
export { Notifier, notificationChannel } from './notifier.js';
export { transactionOutcome } from './outcome.js';
export { PgDatabase } from './pg/database.js';
export {
  PG_DATABASE_DEFAULTS,
  type PgDatabaseOptions,
  type ResolvedPgDatabaseOptions,
  resolvePgDatabaseOptions,
} from './pg/options.js';
export { PgliteDatabase } from './pglite/database.js';
export { directoryHolder } from './pglite/directory-lock.js';
export {
  PGLITE_DATABASE_DEFAULTS,
  type PgliteDatabaseOptions,
  type ResolvedPgliteDatabaseOptions,
  resolvePgliteDatabaseOptions,
} from './pglite/options.js';
export type { ProcessIdentity } from './pglite/process-identity.js';
export { classifyFailure, type DatabaseFailure, type FailureKind } from './rules/classify-failure.js';
export { type SqlParameter, toJson } from './rules/encode-parameter.js';
export { quoteIdentifier } from './rules/identifier.js';
export type { TransactionOutcome } from './rules/judge-outcome.js';
export {
  type Statement,
  StatementFiles,
  type StatementFilesOptions,
} from './statement-files.js';
