import { objectOption, optionInvalid } from '@millrace/foundation';
import { type ModuleAsyncOptions, nestLogger } from '@millrace/foundation/nestjs';
import {
  type Database,
  PgDatabase,
  type PgDatabaseOptions,
  PgliteDatabase,
  type PgliteDatabaseOptions,
} from '@millrace/postgres';
import type { ConfigurableModuleOptionsFactory } from '@nestjs/common';
import type { DagDefinition } from '../define-dag.js';
import { type OutboxOptions, poolSizeFor, resolveOutboxOptions } from '../options.js';

/** Injection token of the outbox's Database, for `pusher.start(…, { tx })` in a transaction of your own. */
export const OUTBOX_DATABASE = Symbol('OUTBOX_DATABASE');

/** A Database of the application, or how to reach one that the module opens and stops. */
export type DatabaseSource = Database | PgDatabaseOptions | PgliteDatabaseOptions;

/** Options of OutboxModule. All may be left out. */
export interface OutboxModuleOptions extends Omit<OutboxOptions, 'database'> {
  /**
   * A Database, which its owner stops; or `{ url, … }` of a PostgreSQL; or `{ dataDir?, … }` of an embedded one (PGlite; in
   * memory without a folder). Without it the module opens an embedded one in memory. The module creates the tables of an
   * embedded one at the start. `migrateOutbox` creates those of a PostgreSQL.
   */
  readonly database?: DatabaseSource | undefined;
  /** The DAGs of the application (none). Feature modules add theirs by `forFeature`. */
  readonly dags?: readonly DagDefinition[] | undefined;
}

/** The options after their check. */
export interface CheckedModuleOptions {
  readonly database: DatabaseSource;
  readonly dags: readonly DagDefinition[];
  readonly outbox: Omit<OutboxOptions, 'database'>;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export type OutboxOptionsFactory = ConfigurableModuleOptionsFactory<
  OutboxModuleOptions,
  'createOutboxOptions'
>;

/** The source of the options of `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export type OutboxModuleAsyncOptions = ModuleAsyncOptions<OutboxModuleOptions, 'createOutboxOptions'>;

/** Messages about the module begin with it. */
export const OWNER = 'OutboxModule';

const source = objectOption('a Database, { url } of a PostgreSQL, or { dataDir } of an embedded one');

/**
 * Validates the options.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function checkModuleOptions(given: OutboxModuleOptions): CheckedModuleOptions {
  if (typeof given !== 'object' || given === null)
    throw optionInvalid(OWNER, 'the options', 'an object', given);
  const { database = {}, dags = [], ...rest } = given;
  if (!source.accepts(database)) throw optionInvalid(OWNER, 'database', source.expected, typeof database);
  requireDags(OWNER, dags);
  const options = { database, dags, outbox: { ...rest, logger: rest.logger ?? nestLogger('Outbox') } };
  // Validates the database's options too. Opens nothing: each application makes its own Database.
  resolveOutboxOptions({ ...options.outbox, database: databaseOf(database, options.outbox).database });
  return options;
}

/**
 * Requires a list of objects. The registry checks the DAGs themselves.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function requireDags(owner: string, dags: unknown): asserts dags is readonly DagDefinition[] {
  const isDag = (dag: unknown) => typeof dag === 'object' && dag !== null;
  if (!Array.isArray(dags) || !dags.every(isDag))
    throw optionInvalid(owner, 'dags', 'a list of DAGs made with defineDag', dags);
}

/** A Database. The module stops it if it is its own. */
export interface ModuleDatabase {
  readonly database: Database;
  readonly isOwn: boolean;
}

/**
 * Returns the given Database, or makes one without opening it.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `IDENTIFIER_INVALID`.
 */
export function databaseOf(
  given: DatabaseSource,
  { clock, rng, logger, concurrency }: Omit<OutboxOptions, 'database'>,
): ModuleDatabase {
  if (isDatabase(given)) return { database: given, isOwn: false };
  const shared = { clock, rng, logger };
  // By the key, not its value: a URL missing from the environment must not become an empty database in memory.
  if (!isServer(given)) return { database: new PgliteDatabase({ ...shared, ...given }), isOwn: true };
  const poolSize = poolSizeFor(concurrency);
  return { database: new PgDatabase({ ...shared, poolSize, ...given }), isOwn: true };
}

const isDatabase = (source: DatabaseSource): source is Database =>
  ['query', 'transaction', 'listen'].every((member) => member in source);

const isServer = (source: PgDatabaseOptions | PgliteDatabaseOptions): source is PgDatabaseOptions =>
  'url' in source;
