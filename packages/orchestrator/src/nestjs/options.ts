import {
  ERRORS as FOUNDATION_ERRORS,
  type MillraceError,
  type PartialOptions,
  printable,
} from '@millrace/foundation';
import type { Database } from '@millrace/postgres';
import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { OrchestratorOptions, TryOptions } from '../options.js';
import type { Executor, OperationStore } from '../ports.js';
import type { BackingAdapter, Routes } from '../routes.js';
import type { HttpRequest } from './http.js';
import { nestLogger } from './logger.js';

/**
 * Whose request it is: a tenant, '' for none; undefined for somebody who may see the operations of all tenants (and submits for none). Throws,
 * such as Nest's UnauthorizedException, for somebody who may not come in.
 */
export type TenantOf = (request: HttpRequest) => string | undefined | Promise<string | undefined>;

/** What OrchestratorModule is told: `routes` or `executor` is needed. */
export interface OrchestratorModuleOptions extends Omit<OrchestratorOptions, 'executor' | 'store'> {
  /** Where commands go, by `DOMAIN.EVENT_TYPE`. */
  readonly routes?: Routes | undefined;
  /** Parts that take commands over: `BulkBacking`, `BatchBacking`; only with `routes`. */
  readonly backings?: readonly BackingAdapter[] | undefined;
  /** How often and how long a work is tried, unless its route says otherwise; only with `routes`. */
  readonly tries?: PartialOptions<TryOptions> | undefined;
  /** Does the work, instead of `routes`. */
  readonly executor?: Executor | undefined;
  /** Where operations are kept: `'memory'` (gone with the process; the default) or a Database, which its owner opens, migrates and stops. */
  readonly database?: 'memory' | Database | undefined;
  /** The schema of the tables in that Database. */
  readonly schema?: string | undefined;
  /** A store of your own, instead of `database`. */
  readonly store?: OperationStore | undefined;
  /** Whose request it is ('' for all requests). */
  readonly tenantOf?: TenantOf | undefined;
  /** Streams of events that may be open at once (1000). */
  readonly eventStreamsMax?: number | undefined;
}

/** What is known before the options are. */
export interface OrchestratorModuleShape {
  /** Whether the operations are served over HTTP (true). */
  readonly controller?: boolean | undefined;
  /** Where (`api/operations`). */
  readonly path?: string | undefined;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export interface OrchestratorOptionsFactory {
  /** Gives the options; called once, while the application starts. */
  createOrchestratorOptions(): OrchestratorModuleOptions | Promise<OrchestratorModuleOptions>;
}

/** What `forRootAsync` is told: exactly one of `useFactory`, `useClass` and `useExisting` gives the options. */
export interface OrchestratorModuleAsyncOptions
  extends OrchestratorModuleShape,
    Pick<ModuleMetadata, 'imports'> {
  /** What `useFactory` is called with. */
  readonly inject?: FactoryProvider['inject'];
  /** Makes the options. */
  readonly useFactory?:
    | ((...args: never[]) => OrchestratorModuleOptions | Promise<OrchestratorModuleOptions>)
    | undefined;
  /** A class that makes the options; the module creates it. */
  readonly useClass?: Type<OrchestratorOptionsFactory> | undefined;
  /** The same, but the instance that the imported modules export is used. */
  readonly useExisting?: Type<OrchestratorOptionsFactory> | undefined;
}

/** The options, checked. */
export interface CheckedModuleOptions extends OrchestratorModuleOptions {
  readonly eventStreamsMax: number;
}

/** Begins messages about the module. */
const OWNER = 'OrchestratorModule';

const PATH_DEFAULT = 'api/operations';
const EVENT_STREAMS_MAX = 1_000;

/**
 * Checks what belongs to the module; the rest is checked by what it is for.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function checkModuleOptions(given: OrchestratorModuleOptions): CheckedModuleOptions {
  if (typeof given !== 'object' || given === null) throw optionInvalid('the options', 'an object', given);
  const { routes, executor, backings, tries, store, database, schema, tenantOf } = given;
  const { eventStreamsMax = EVENT_STREAMS_MAX } = given;
  const refuseBoth = (one: unknown, other: unknown, names: string) => {
    if (one !== undefined && other !== undefined) throw optionInvalid(names, 'not both given', 'both');
  };
  if (routes === undefined && executor === undefined)
    throw optionInvalid('routes', 'given, or else an executor', undefined);
  refuseBoth(routes, executor, 'routes and executor');
  refuseBoth(executor, backings, 'executor and backings');
  refuseBoth(executor, tries, 'executor and tries');
  refuseBoth(store, database, 'store and database');
  refuseBoth(store, schema, 'store and schema');
  if (
    database !== undefined &&
    database !== 'memory' &&
    typeof (database as Partial<Database>)?.query !== 'function'
  )
    throw optionInvalid('database', "'memory' or a Database", database);
  if (tenantOf !== undefined && typeof tenantOf !== 'function')
    throw optionInvalid('tenantOf', 'a function', tenantOf);
  if (!Number.isSafeInteger(eventStreamsMax) || eventStreamsMax < 0)
    throw optionInvalid('eventStreamsMax', 'an integer ≥ 0', eventStreamsMax);
  return { ...given, eventStreamsMax, logger: given.logger ?? nestLogger };
}

/**
 * The path of the controller, without slashes at its ends; undefined when there is none.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function controllerPath({
  controller = true,
  path = PATH_DEFAULT,
}: OrchestratorModuleShape): string | undefined {
  if (typeof controller !== 'boolean') throw optionInvalid('controller', 'true or false', controller);
  if (typeof path !== 'string' || !/^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/.test(path))
    throw optionInvalid('path', "a path such as 'api/operations'", path);
  return controller ? path.replace(/^\/|\/$/g, '') : undefined;
}

/** Refuses a value. */
export function optionInvalid(option: string, expected: string, given: unknown): MillraceError {
  const shown = printable(given);
  const quoted = typeof given === 'string' ? `'${shown}'` : shown;
  return FOUNDATION_ERRORS.create('OPTION_INVALID', { owner: OWNER, option, expected, given: quoted });
}
