import { type Database, migrate, requireMigrated } from '@millrace/postgres';
import { OUTBOX_DEFAULTS } from './options.js';

/** Which schema holds the tables of an outbox. */
export interface MigrateOutboxOptions {
  /** `millrace` unless given. */
  readonly schema?: string | undefined;
  /** How long one file may take, the wait for another instance included; 10 minutes unless given. */
  readonly timeoutMs?: number | undefined;
}

const migration = ({ schema = OUTBOX_DEFAULTS.schema, timeoutMs }: MigrateOutboxOptions) => ({
  schema,
  timeoutMs,
  package: 'outbox',
  folder: new URL('../sql/', import.meta.url),
});

/**
 * Makes the tables of an outbox, or brings them up to date. Any number of instances may call it at once.
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
