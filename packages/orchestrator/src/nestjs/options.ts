import { optionInvalid, type PartialOptions } from '@millrace/foundation';
import { type ModuleAsyncOptions, nestLogger } from '@millrace/foundation/nestjs';
import type { Database } from '@millrace/postgres';
import type { ConfigurableModuleOptionsFactory } from '@nestjs/common';
import type { AttemptOptions, OrchestratorOptions } from '../options.js';
import type { Executor, OperationStore } from '../ports.js';
import type { BackingAdapter, Routes } from '../routes.js';
import type { HttpRequest } from './http.js';

/** Injection token of the Orchestrator: `@Inject(ORCHESTRATOR) orchestrator: Orchestrator`. */
export const ORCHESTRATOR = Symbol('ORCHESTRATOR');

/**
 * Returns the tenant of a request ('' = none). `undefined` lets the caller see the operations of all tenants and submit
 * for none. Throws, such as Nest's UnauthorizedException, to reject the request.
 */
export type TenantOf = (request: HttpRequest) => string | undefined | Promise<string | undefined>;

/** Options of OrchestratorModule. `routes` or `executor` is required. */
export interface OrchestratorModuleOptions extends Omit<OrchestratorOptions, 'executor' | 'store'> {
  /** The work of each command, by `DOMAIN.EVENT_TYPE`. */
  readonly routes?: Routes | undefined;
  /** Adapters that commands can be handed over to, such as `BulkBacking` and `BatchBacking` (none). Requires `routes`. */
  readonly backings?: readonly BackingAdapter[] | undefined;
  /** Attempts and timeouts of all routes, unless a route sets its own. Requires `routes`. */
  readonly tries?: PartialOptions<AttemptOptions> | undefined;
  /** Does the work, instead of `routes`. */
  readonly executor?: Executor | undefined;
  /** Where operations are stored: a Database that its owner opens, migrates and stops, or the memory of this process (`'memory'`). */
  readonly database?: 'memory' | Database | undefined;
  /** The schema of the tables in that Database. */
  readonly schema?: string | undefined;
  /** A store of your own, instead of `database`. */
  readonly store?: OperationStore | undefined;
  /** Returns the tenant of a request ('' for all requests). */
  readonly tenantOf?: TenantOf | undefined;
  /** Maximum number of open event streams (1000). */
  readonly eventStreamsMax?: number | undefined;
}

/** Options that must be known before the others. */
export interface OrchestratorModuleShape {
  /** Serves the operations over HTTP (true). */
  readonly controller?: boolean | undefined;
  /** Path of the operations (`api/operations`). */
  readonly path?: string | undefined;
}

/** A provider that makes the options, for `forRootAsync({ useClass | useExisting })`. */
export type OrchestratorOptionsFactory = ConfigurableModuleOptionsFactory<
  OrchestratorModuleOptions,
  'createOrchestratorOptions'
>;

/** The source of the options of `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export type OrchestratorModuleAsyncOptions = ModuleAsyncOptions<
  OrchestratorModuleOptions,
  'createOrchestratorOptions',
  OrchestratorModuleShape
>;

/** The options after their check. */
export interface CheckedModuleOptions extends OrchestratorModuleOptions {
  readonly eventStreamsMax: number;
  /** Path of the controller without slashes at its ends. undefined: there is none. */
  readonly path: string | undefined;
}

/** Errors about the module start with it. */
export const OWNER = 'OrchestratorModule';

const PATH_DEFAULT = 'api/operations';
const EVENT_STREAMS_MAX = 1_000;

/**
 * Validates the options that belong to the module. `checkSetup` validates the rest.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function checkModuleOptions(
  given: OrchestratorModuleOptions,
  path: string | undefined,
): CheckedModuleOptions {
  if (typeof given !== 'object' || given === null) throw invalid('the options', 'an object', given);
  const { routes, executor, backings, tries, store, database, schema, tenantOf } = given;
  const { eventStreamsMax = EVENT_STREAMS_MAX } = given;
  const refuseBoth = (one: unknown, other: unknown, names: string) => {
    if (one !== undefined && other !== undefined) throw invalid(names, 'not both given', 'both');
  };
  if (routes === undefined && executor === undefined)
    throw invalid('routes', 'given, or else an executor', undefined);
  refuseBoth(routes, executor, 'routes and executor');
  refuseBoth(executor, backings, 'executor and backings');
  refuseBoth(executor, tries, 'executor and tries');
  refuseBoth(store, database, 'store and database');
  refuseBoth(store, schema, 'store and schema');
  const isDatabase = typeof (database as Partial<Database> | undefined)?.query === 'function';
  if (database !== undefined && database !== 'memory' && !isDatabase)
    throw invalid('database', "'memory' or a Database", database);
  if (tenantOf !== undefined && typeof tenantOf !== 'function')
    throw invalid('tenantOf', 'a function', tenantOf);
  if (!Number.isSafeInteger(eventStreamsMax) || eventStreamsMax < 0)
    throw invalid('eventStreamsMax', 'an integer ≥ 0', eventStreamsMax);
  return { ...given, eventStreamsMax, path, logger: given.logger ?? nestLogger('Orchestrator') };
}

/**
 * Returns the path of the controller without slashes at its ends, or undefined if there is no controller.
 * @throws MillraceError `OPTION_INVALID`.
 */
export function controllerPath({
  controller = true,
  path = PATH_DEFAULT,
}: OrchestratorModuleShape): string | undefined {
  if (typeof controller !== 'boolean') throw invalid('controller', 'true or false', controller);
  if (typeof path !== 'string' || !/^\/?[\w.~-]+(\/[\w.~-]+)*\/?$/.test(path))
    throw invalid('path', "a path such as 'api/operations'", path);
  return controller ? path.replace(/^\/|\/$/g, '') : undefined;
}

const invalid = (option: string, expected: string, given: unknown) =>
  optionInvalid(OWNER, option, expected, given);
