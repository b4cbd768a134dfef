import { migrateOrchestrator, requireOrchestratorMigrated } from '@millrace/orchestrator/postgres';
import { migrateOutbox, requireOutboxMigrated } from '@millrace/outbox';
import { type Database, migrate, requireMigrated } from '@millrace/postgres';

type Check = (database: Database, options: ServerSchema) => Promise<void>;

/** Which tables. */
export interface ServerSchema {
  readonly schema: string;
}

const OWN = { package: 'server', folder: new URL('../../sql/', import.meta.url) };

/**
 * Brings the tables of all parts up to date. Any number of processes may do so at once.
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
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER` and others of `requireMigrated`.
 */
export async function requireServerMigrated(database: Database, { schema }: ServerSchema): Promise<void> {
  for (const check of CHECKS) await check(database, { schema });
}

/**
 * All that is wrong with the tables: `requireServerMigrated` stops at the first.
 * @returns what each part would refuse to start with.
 */
export async function migrationProblems(
  database: Database,
  { schema }: ServerSchema,
): Promise<readonly unknown[]> {
  const looks = await Promise.allSettled(CHECKS.map((check) => check(database, { schema })));
  return looks.flatMap((look) => (look.status === 'rejected' ? [look.reason] : []));
}

/** One for each part that has tables. */
const CHECKS: readonly Check[] = [
  requireOutboxMigrated,
  requireOrchestratorMigrated,
  (database, options) => requireMigrated(database, { ...OWN, ...options }),
];
