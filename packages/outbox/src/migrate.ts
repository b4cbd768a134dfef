import { type Database, migrate, requireMigrated } from '@millrace/postgres';
import { OUTBOX_DEFAULTS } from './options.js';

/** Options of the migration of an outbox. */
export interface MigrateOutboxOptions {
  /** Schema of the tables (`millrace`). */
  readonly schema?: string | undefined;
  /** Longest time for one file, including the wait for another instance (10 minutes). */
  readonly timeoutMs?: number | undefined;
}

const migration = ({ schema = OUTBOX_DEFAULTS.schema, timeoutMs }: MigrateOutboxOptions) => ({
  schema,
  timeoutMs,
  package: 'outbox',
  folder: new URL('../sql/', import.meta.url),
});

/**
 * Creates the tables of an outbox, or brings them up to date. Any number of instances may call it at once.
 * @returns the names of the files that this call applied.
 * @throws MillraceError those of `migrate` of `@millrace/postgres`.
 */
export function migrateOutbox(
  database: Database,
  options: MigrateOutboxOptions = {},
): Promise<readonly string[]> {
  return migrate(database, migration(options));
}

/**
 * Checks that the tables are what this release expects, without changing anything.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` and the others of `requireMigrated` of `@millrace/postgres`.
 */
export function requireOutboxMigrated(database: Database, options: MigrateOutboxOptions = {}): Promise<void> {
  return requireMigrated(database, migration(options));
}
