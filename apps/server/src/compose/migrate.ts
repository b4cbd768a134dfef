import { migrateOrchestrator, requireOrchestratorMigrated } from '@millrace/orchestrator/postgres';
import { migrateOutbox, requireOutboxMigrated } from '@millrace/outbox';
import { type Database, migrate, requireMigrated } from '@millrace/postgres';

/** Which tables. */
export interface ServerSchema {
  readonly schema: string;
}

const OWN = { package: 'server', folder: new URL('../../sql/', import.meta.url) };

/**
 * Brings the tables of all parts up to date. Any number of processes may do so at once.
 * @param database - where.
 * @param options - the schema.
 * @returns what was applied.
 * @throws MillraceError those of `migrate`.
 */
export async function migrateServer(
  database: Database,
  { schema }: ServerSchema,
): Promise<readonly string[]> {
  return [
    ...(await migrateOutbox(database, { schema })),
    ...(await migrateOrchestrator(database, { schema })),
    ...(await migrate(database, { ...OWN, schema })),
  ];
}

/**
 * Checks that the tables are what this version expects.
 * @param database - where.
 * @param options - the schema.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` and others of `requireMigrated`.
 */
export async function requireServerMigrated(database: Database, { schema }: ServerSchema): Promise<void> {
  await requireOutboxMigrated(database, { schema });
  await requireOrchestratorMigrated(database, { schema });
  await requireMigrated(database, { ...OWN, schema });
}
