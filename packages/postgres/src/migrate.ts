import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type { Database, Queryable, Tx } from './database.js';
import { ERRORS } from './errors.js';
import { isConflict, isSqlError } from './failure.js';
import { quoteIdentifier } from './values.js';

/** The schema to migrate and its files. */
export interface MigrateOptions {
  /** Created if it is missing (`millrace`). */
  readonly schema?: string | undefined;
  /** Numbers count per package: several packages share a schema. */
  readonly package: string;
  /** Folder of the files `0001-name.sql`. Names in them carry no schema: the search path is the schema alone. */
  readonly folder: URL;
  /** Time limit of one file, the wait for another instance included (10 minutes). */
  readonly timeoutMs?: number | undefined;
}

/** One step of a schema, a file of a package. */
interface MigrationFile {
  /** From 1, without gaps. */
  readonly number: number;
  /** `0001-create-tables`: the file's name without `.sql`. */
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the text, line ends aside. */
  readonly checksum: string;
  /** True if releases that do not know this step cannot work with the schema after it. */
  readonly breaking: boolean;
}

/** A step that the database records as applied. */
type AppliedStep = Omit<MigrationFile, 'sql'>;

/** The owner of steps: a package in a schema. */
type Owner = ReturnType<typeof ownerOf>;

const FILE_NAME = /^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.sql$/;

/** A line such as `-- breaking: older releases write rows without the new key`. */
const BREAKING = /^-- breaking: \S/m;

const TIMEOUT_MS = 600_000;

/** Retries of one file: a file that changes tables in use may be the victim of a deadlock. */
const CONFLICTS_MAX = 8;

const ownerOf = ({ schema = 'millrace', package: name }: MigrateOptions) => ({ schema, package: name });

/**
 * Migrates a schema: applies the files that it lacks, each in its own transaction. Any number of instances may call it at once; each file is
 * applied once.
 * @returns the names of the files that this call applied.
 * @throws MillraceError `MIGRATION_INVALID`, `MIGRATION_CHANGED`, `MIGRATION_GAP`, `SCHEMA_NEWER`, `MIGRATION_FAILED`,
 * `IDENTIFIER_INVALID`, and those of `transaction`.
 */
export async function migrate(database: Database, options: MigrateOptions): Promise<readonly string[]> {
  const { timeoutMs = TIMEOUT_MS } = options;
  const owner = ownerOf(options);
  const files = readMigrations(options.folder);
  const done: string[] = [];
  for (;;) {
    // Planned again under the lock for each file: another instance may have applied some in between.
    let next: MigrationFile | undefined;
    const step = async (tx: Tx) => {
      await prepare(tx, owner.schema);
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

/**
 * Checks at the start of an instance that the schema is the one that the code expects. Changes nothing.
 * @throws MillraceError `SCHEMA_OUTDATED`, `SCHEMA_NEWER`, `MIGRATION_CHANGED`, `MIGRATION_GAP`, `MIGRATION_INVALID`,
 * and those of `query`.
 */
export async function requireMigrated(database: Database, options: MigrateOptions): Promise<void> {
  const owner = ownerOf(options);
  const pending = planMigrations(readMigrations(options.folder), await appliedTo(database, owner), owner);
  if (pending.length === 0) return;
  const missing = pending.map(({ name }) => name).join(', ');
  throw ERRORS.create('SCHEMA_OUTDATED', { ...owner, missing });
}

/**
 * Reads the migrations of a package in their order: the files `0001-name.sql`, `0002-name.sql` … of a folder. Ignores files whose names do not
 * begin with a digit.
 * @throws MillraceError `MIGRATION_INVALID` for a wrong name, a missing or repeated number, or a folder without migrations.
 */
function readMigrations(folder: URL): readonly MigrationFile[] {
  const files = readdirSync(folder).filter((name) => /^\d/.test(name));
  if (files.length === 0) throw invalid(folder.pathname, 'there is no file like 0001-name.sql');
  return files.sort().map((file, index) => {
    const number = Number(FILE_NAME.exec(file)?.[1]);
    if (Number.isNaN(number)) throw invalid(file, 'its name must be like 0001-what-it-does.sql');
    if (number !== index + 1) {
      const expected = String(index + 1).padStart(4, '0');
      throw invalid(file, `expected number ${expected} here: numbers begin at 0001, without gaps or repeats`);
    }
    // A checkout may change line ends, which changes nothing else.
    const sql = readFileSync(new URL(file, folder), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(sql).digest('hex');
    return { number, name: file.slice(0, -'.sql'.length), sql, checksum, breaking: BREAKING.test(sql) };
  });
}

/**
 * Compares the files with the steps that the database has, both in order, and returns the files that are still to be applied. Accepts steps that
 * only the database has, unless one is breaking: an older release may run beside a newer one.
 */
function planMigrations(files: readonly MigrationFile[], applied: readonly AppliedStep[], owner: Owner) {
  for (const [index, { number, name, checksum, breaking }] of applied.entries()) {
    if (number !== index + 1)
      throw ERRORS.create('MIGRATION_GAP', { ...owner, found: number, missing: index + 1 });
    const file = files[index];
    if (!file) {
      if (breaking) throw ERRORS.create('SCHEMA_NEWER', { ...owner, found: name });
    } else if (file.name !== name || file.checksum !== checksum) {
      throw ERRORS.create('MIGRATION_CHANGED', { schema: owner.schema, file: `${file.name}.sql` });
    }
  }
  return files.slice(applied.length);
}

/** Locks the schema's migrations until the end of the transaction, and creates the schema and the table of applied steps. */
async function prepare(tx: Tx, schema: string): Promise<void> {
  const name = quoteIdentifier(schema);
  await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('millrace migrations of ' || $1, 0))", [
    schema,
  ]);
  const { rows } = await tx.query<{ schema: boolean; table: boolean }>(
    'SELECT to_regnamespace($1) IS NOT NULL AS schema, to_regclass($2) IS NOT NULL AS table',
    [name, `${name}.schema_migration`],
  );
  // Checked first: IF NOT EXISTS requires the right to create even if nothing has to be created.
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

async function appliedTo(source: Queryable, owner: Owner): Promise<readonly AppliedStep[]> {
  const table = `${quoteIdentifier(owner.schema)}.schema_migration`;
  const sql = `SELECT number, name, checksum, breaking FROM ${table} WHERE package = $1 ORDER BY number`;
  try {
    return (await source.query<AppliedStep>(sql, [owner.package])).rows;
  } catch (error) {
    if (isSqlError(error, '42P01') || isSqlError(error, '3F000')) return []; // No such table, no such schema.
    throw error;
  }
}

async function apply(tx: Tx, file: MigrationFile, owner: Owner): Promise<void> {
  const { number, name, sql, checksum, breaking } = file;
  const schema = quoteIdentifier(owner.schema);
  try {
    await tx.query("SELECT set_config('search_path', $1, true)", [schema]);
    await tx.script(sql);
  } catch (error) {
    if (!isSqlError(error) || isConflict(error)) throw error;
    throw failed(file, error);
  }
  const { rows } = await tx.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
  if (!tx.xid?.startsWith(`${rows[0]?.xid}@`)) {
    throw invalid(`${name}.sql`, 'it ends its own transaction; remove BEGIN, COMMIT and ROLLBACK');
  }
  await tx.query(
    `INSERT INTO ${schema}.schema_migration (package, number, name, checksum, breaking) VALUES ($1, $2, $3, $4, $5)`,
    [owner.package, number, name, checksum, breaking],
  );
}

const failed = ({ name }: MigrationFile, error: Error) =>
  ERRORS.create('MIGRATION_FAILED', { file: `${name}.sql`, reason: error.message }, { cause: error });

const invalid = (file: string, reason: string) => ERRORS.create('MIGRATION_INVALID', { file, reason });
