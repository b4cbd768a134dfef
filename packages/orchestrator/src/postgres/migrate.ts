import { type Database, migrate, requireMigrated } from '@millrace/postgres';

/** Options of the migration of an orchestrator's tables. */
export interface MigrateOrchestratorOptions {
  /** Schema of the tables (`millrace`). */
  readonly schema?: string | undefined;
  /** Longest time of one file, including the wait for another instance (10 minutes). */
  readonly timeoutMs?: number | undefined;
}

/** Default schema of the tables. */
export const DEFAULT_SCHEMA = 'millrace';

const migration = ({ schema = DEFAULT_SCHEMA, timeoutMs }: MigrateOrchestratorOptions) => ({
  schema,
  timeoutMs,
  package: 'orchestrator',
  folder: new URL('../../sql/', import.meta.url),
});

/**
 * Makes or updates the tables of an orchestrator. Any number of instances may call it at the same time.
 * @returns the names of the files that this call applied.
 * @throws MillraceError of `migrate` of `@millrace/postgres`.
 */
export function migrateOrchestrator(
  database: Database,
  options: MigrateOrchestratorOptions = {},
): Promise<readonly string[]> {
  return migrate(database, migration(options));
}

/**
 * Checks that the tables are those of this release. Changes nothing.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` and others of `requireMigrated` of `@millrace/postgres`.
 */
export function requireOrchestratorMigrated(
  database: Database,
  options: MigrateOrchestratorOptions = {},
): Promise<void> {
  return requireMigrated(database, migration(options));
}
