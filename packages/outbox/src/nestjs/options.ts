import {
  ERRORS as FOUNDATION_ERRORS,
  type MillraceError,
  objectOption,
  printable,
} from '@millrace/foundation';
import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { DagDefinition } from '../define-dag.js';
import { type OutboxOptions, resolveOutboxOptions } from '../options.js';
import { nestLogger } from './logger.js';
import { type DatabaseSource, databaseOf } from './open-database.js';

/** What OutboxModule is told. Everything may be left out. */
export interface OutboxModuleOptions extends Omit<OutboxOptions, 'database'> {
  /**
   * A Database, which its owner stops; or `{ url, … }` of a PostgreSQL; or `{ dataDir?, … }` of an embedded one (PGlite), in memory without
   * a folder and when nothing is given. The tables of an embedded one are made at the start; those of a PostgreSQL by `migrateOutbox`.
   */
  readonly database?: DatabaseSource | undefined;
  /** The DAGs of the application; feature modules bring theirs by `forFeature`. */
  readonly dags?: readonly DagDefinition[] | undefined;
}

/** The options, checked. */
export interface CheckedModuleOptions {
  readonly database: DatabaseSource;
  readonly dags: readonly DagDefinition[];
  readonly outbox: Omit<OutboxOptions, 'database'>;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export interface OutboxOptionsFactory {
  /** Gives the options; called once, while the application starts. */
  createOutboxOptions(): OutboxModuleOptions | Promise<OutboxModuleOptions>;
}

/** What `forRootAsync` is told: exactly one of `useFactory`, `useClass` and `useExisting` gives the options. */
export interface OutboxModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** What `useFactory` is called with. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options. */
  readonly useFactory?:
    | ((...args: never[]) => OutboxModuleOptions | Promise<OutboxModuleOptions>)
    | undefined;
  /** A class that makes the options; the module creates it. */
  readonly useClass?: Type<OutboxOptionsFactory> | undefined;
  /** The same, but the instance that the imported modules export is used. */
  readonly useExisting?: Type<OutboxOptionsFactory> | undefined;
}

/** Begins messages about the module. */
export const OWNER = 'OutboxModule';

const source = objectOption('a Database, { url } of a PostgreSQL, or { dataDir } of an embedded one');

/**
 * Checks the options.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
 */
export function checkModuleOptions(given: OutboxModuleOptions = {}): CheckedModuleOptions {
  if (typeof given !== 'object' || given === null)
    throw optionInvalid(OWNER, 'the options', 'an object', given);
  const { database = {}, dags = [], ...rest } = given;
  if (!source.accepts(database)) throw optionInvalid(OWNER, 'database', source.expected, typeof database);
  requireDags(OWNER, dags);
  const options = { database, dags, outbox: { ...rest, logger: rest.logger ?? nestLogger } };
  // Nothing is opened: this one is thrown away. Each application gets its own.
  resolveOutboxOptions({ ...options.outbox, database: databaseOf(database, options.outbox).database });
  return options;
}

/**
 * Refuses what is no list of DAGs; what is in them the registry checks.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function requireDags(owner: string, dags: unknown): asserts dags is readonly DagDefinition[] {
  const isDag = (dag: unknown) => typeof dag === 'object' && dag !== null;
  if (!Array.isArray(dags) || !dags.every(isDag))
    throw optionInvalid(owner, 'dags', 'a list of DAGs made with defineDag', dags);
}

/** Refuses a value. */
export function optionInvalid(
  owner: string,
  option: string,
  expected: string,
  given: unknown,
): MillraceError {
  const shown = printable(given);
  const quoted = typeof given === 'string' ? `'${shown}'` : shown;
  return FOUNDATION_ERRORS.create('OPTION_INVALID', { owner, option, expected, given: quoted });
}
