import type { Database, Queryable, Tx } from './database.js';
import { ERRORS } from './errors.js';
import { isSqlError } from './failure.js';
import { type MigrationFile, readMigrations } from './migration-files.js';
import { isConflictState } from './rules/classify-failure.js';
import { quoteIdentifier } from './rules/identifier.js';
import { type MigrationRecord, planMigrations } from './rules/plan-migrations.js';

/** Whose schema to bring up to date. */
export interface MigrateOptions {
  /** Made when it is missing; `millrace` unless given. */
  readonly schema?: string | undefined;
  /** Numbers are counted per package: several share a schema. */
  readonly package: string;
  /** Where the files `0001-name.sql` are. They name nothing with a schema: the search path is the schema alone. */
  readonly folder: URL;
  /** How long one file may take, the wait for another instance included; 10 minutes unless given. */
  readonly timeoutMs?: number | undefined;
}

const DEFAULTS = { schema: 'millrace', timeoutMs: 600_000 } as const;

/** A file that changes tables while others work on them may deadlock with one of them; when it was the one to give way, it tries again. */
const CONFLICTS_MAX = 8;

/**
 * Brings a schema up to date: applies the files that it lacks, each in a transaction of its own. Any number of instances
 * may call it at once; each file is applied once.
 * @returns the names of the files that this call applied.
 * @throws MillraceError `MIGRATION_INVALID`, `MIGRATION_CHANGED`, `MIGRATION_GAP`, `SCHEMA_NEWER`, `MIGRATION_FAILED`,
 * `IDENTIFIER_INVALID`, and those of `transaction`.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<readonly string[]> {
  const { schema = DEFAULTS.schema, timeoutMs = DEFAULTS.timeoutMs } = options;
  const files = readMigrations(options.folder);
  const owner = { schema, package: options.package };
  const done: string[] = [];
  for (;;) {
    // Looked up anew under the lock each time: another instance may have been here in between.
    let next: MigrationFile | undefined;
    const step = async (tx: Tx) => {
      await prepare(tx, schema);
      [next] = planMigrations(files, await appliedTo(tx, owner), owner);
      if (next) await apply(tx, next, owner);
      return next?.name;
    };
    const applied = await database
      .transaction(step, { timeoutMs, retries: CONFLICTS_MAX })
      .catch((error: unknown) => {
        throw isSqlError(error) && next ? failed(next, error) : error;
      });
    if (applied === undefined) return done;
    done.push(applied);
  }
}

const failed = ({ name }: MigrationFile, error: Error) =>
  ERRORS.create('MIGRATION_FAILED', { file: `${name}.sql`, reason: error.message }, { cause: error });

/**
 * Checks that a schema is what the code expects, without changing anything; for the start of an instance.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER`, `MIGRATION_CHANGED`, `MIGRATION_GAP`, `MIGRATION_INVALID`,
 * and those of `query`.
 */
export async function requireMigrated(database: Database, options: MigrateOptions): Promise<void> {
  const { schema = DEFAULTS.schema } = options;
  const owner = { schema, package: options.package };
  const pending = planMigrations(readMigrations(options.folder), await appliedTo(database, owner), owner);
  if (pending.length === 0) return;
  const missing = pending.map(({ name }) => name).join(', ');
  throw ERRORS.create('SCHEMA_OUTDATED', { ...owner, missing });
}

/** One at a time per schema from here to the end of the transaction; makes what the bookkeeping needs. */
async function prepare(tx: Tx, schema: string): Promise<void> {
  const name = quoteIdentifier(schema);
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('millrace migrations of ' || $1, 0))", [
    schema,
  ]);
  const { rows } = await tx.query<{ schema: boolean; table: boolean }>(
    'SELECT to_regnamespace($1) IS NOT NULL AS schema, to_regclass($2) IS NOT NULL AS table',
    [name, `${name}.schema_migration`],
  );
  // Asked first: IF NOT EXISTS wants the right to create even where nothing has to be created.
  if (!rows[0]?.schema) await tx.query(`CREATE SCHEMA ${name}`);
  if (!rows[0]?.table) {
    await tx.query(`CREATE TABLE ${name}.schema_migration (
      package text NOT NULL,
      number integer NOT NULL,
      name text NOT NULL,
      checksum text NOT NULL,
      breaking boolean NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (package, number)
    )`);
  }
}

async function appliedTo(
  source: Queryable,
  { schema, package: owner }: { readonly schema: string; readonly package: string },
): Promise<readonly MigrationRecord[]> {
  const table = `${quoteIdentifier(schema)}.schema_migration`;
  try {
    const { rows } = await source.query<{
      number: number;
      name: string;
      checksum: string;
      breaking: boolean;
    }>(`SELECT number, name, checksum, breaking FROM ${table} WHERE package = $1 ORDER BY number`, [owner]);
    return rows;
  } catch (error) {
    if (isSqlError(error, '42P01') || isSqlError(error, '3F000')) return []; // No such table, no such schema.
    throw error;
  }
}

async function apply(
  tx: Tx,
  file: MigrationFile,
  { schema, package: owner }: { readonly schema: string; readonly package: string },
): Promise<void> {
  const { number, name, sql, checksum, breaking } = file;
  try {
    await tx.query("SELECT set_config('search_path', $1, true)", [quoteIdentifier(schema)]);
    await tx.script(sql);
  } catch (error) {
    if (!isSqlError(error) || isConflictState(error.code)) throw error;
    throw failed(file, error);
  }
  const { rows } = await tx.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  if (!tx.xid?.startsWith(`${rows[0]?.xid}@`)) {
    const reason = 'it ends the transaction it runs in; leave BEGIN, COMMIT and ROLLBACK out of it';
    throw ERRORS.create('MIGRATION_INVALID', { file: `${name}.sql`, reason });
  }
  await tx.query(
    `INSERT INTO ${quoteIdentifier(schema)}.schema_migration (package, number, name, checksum, breaking)
     VALUES ($1, $2, $3, $4, $5)`,
    [owner, number, name, checksum, breaking],
  );
}
