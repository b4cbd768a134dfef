import { type Database, migrate, requireMigrated } from '@millrace/postgres';

/** Which schema holds the tables of an orchestrator. */
export interface MigrateOrchestratorOptions {
  /** `millrace` unless given. */
  readonly schema?: string | undefined;
  /** How long one file may take, the wait for another instance included; 10 minutes unless given. */
  readonly timeoutMs?: number | undefined;
}

/** The schema unless another one is given. */
export const DEFAULT_SCHEMA = 'millrace';

const migration = ({ schema = DEFAULT_SCHEMA, timeoutMs }: MigrateOrchestratorOptions) => ({
  schema,
  timeoutMs,
  package: 'orchestrator',
  folder: new URL('../../sql/', import.meta.url),
});

/**
 * Makes the tables of an orchestrator, or brings them up to date. Any number of instances may call it at once.
 * @returns the names of the files that this call applied.
 * @throws MillraceError those of `migrate` of `@millrace/postgres`.
 */
export function migrateOrchestrator(
  database: Database,
  options: MigrateOrchestratorOptions = {},
): Promise<readonly string[]> {
  return migrate(database, migration(options));
}

/**
 * Checks that the tables are what this release expects, without changing anything.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` and the others of `requireMigrated` of `@millrace/postgres`.
 */
export function requireOrchestratorMigrated(
  database: Database,
  options: MigrateOrchestratorOptions = {},
): Promise<void> {
  return requireMigrated(database, migration(options));
}
