import type { Readable } from 'node:stream';
import type { Clock, Logger } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { MemoryOperationStore } from '../memory/store.js';
import type { OpId } from '../op-id.js';
import type { Operations, TenantScope } from '../operations.js';
import { type OrchestratorOptions, resolveOrchestratorOptions, type TimeBudgetOptions } from '../options.js';
import { OrchestratorService } from '../orchestrator-service.js';
import type { Executor, OperationStore } from '../ports.js';
import { migrateOrchestrator } from '../postgres/migrate.js';
import { PostgresOperationStore } from '../postgres/store.js';
import { RouteExecutor } from '../route-executor.js';
import { openEventStream } from './event-stream.js';
import type { HttpRequest } from './http.js';
import type { CheckedModuleOptions, TenantOf } from './options.js';

/** The orchestrator of an application, and what its controller needs. */
export class OrchestratorHost {
  readonly orchestrator: OrchestratorService;
  readonly #tenantOf: TenantOf;
  readonly #hasOwnUrls: boolean;
  readonly #eventStreamsMax: number;
  readonly #routes: RouteExecutor | undefined;
  readonly #store: ModuleStore;
  #eventStreams = 0;

  /**
   * Makes an orchestrator that does not run yet.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ROUTE_INVALID`.
   */
  constructor(options: CheckedModuleOptions) {
    const { tenantOf = () => '', eventStreamsMax, statusBasePath } = options;
    const { routes, store, settings } = setupOf(options);
    this.#tenantOf = tenantOf;
    this.#hasOwnUrls = statusBasePath !== undefined;
    this.#eventStreamsMax = eventStreamsMax;
    this.#routes = routes;
    this.#store = store;
    this.orchestrator = new OrchestratorService(settings);
  }

  /** Reads, watches and cancels operations. */
  get operations(): Operations {
    return this.orchestrator.operations;
  }

  /** Limits and default of a command's time budget. */
  get timeBudget(): TimeBudgetOptions {
    return this.orchestrator.options.timeBudget;
  }

  /**
   * Returns the tenant whose operations a request may see and make.
   * @throws what `tenantOf` throws.
   */
  async scopeOf(request: HttpRequest): Promise<TenantScope> {
    return { tenant: await this.#tenantOf(request) };
  }

  /**
   * Returns the status URL of an operation. It is below the path of the request, so that it is right under any prefix.
   * @param given - the orchestrator's URL, which counts if the application has set `statusBasePath`.
   */
  statusUrlOf(opId: OpId, path: string, given: string | null): string {
    return this.#hasOwnUrls && given !== null ? given : `${path}/${opId}/status`;
  }

  /**
   * Opens the event stream of an operation.
   * @param options - `signal` aborts when the client has disconnected.
   * @throws MillraceError `OPERATION_NOT_FOUND`, `STREAMS_FULL`.
   */
  async openEvents(opId: OpId, options: TenantScope & { readonly signal: AbortSignal }): Promise<Readable> {
    const { operations } = this;
    const { clock } = this.orchestrator.options;
    if (this.#eventStreams >= this.#eventStreamsMax)
      throw ERRORS.create('STREAMS_FULL', { streams: this.#eventStreams });
    this.#eventStreams++;
    const release = () => {
      this.#eventStreams--;
    };
    try {
      const stream = await openEventStream({ operations, clock }, opId, options);
      stream.once('close', release);
      return stream;
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Number of open event streams. */
  get eventStreams(): number {
    return this.#eventStreams;
  }

  /**
   * Prepares the store. Commands can be submitted after that.
   * @throws MillraceError of a migration.
   */
  async prepare(): Promise<void> {
    await this.#store.prepare();
  }

  /** Starts to claim work. */
  async start(): Promise<void> {
    await this.orchestrator.start();
  }

  /** Gives waiting callers their status URLs, lets work end within the grace period and releases the rest. */
  async drain(): Promise<void> {
    await this.orchestrator.stop();
    this.#routes?.close();
  }
}

/** The parts of an orchestrator. */
interface Setup {
  readonly routes: RouteExecutor | undefined;
  readonly store: ModuleStore;
  readonly settings: OrchestratorOptions;
}

function setupOf(options: CheckedModuleOptions): Setup {
  const { routes: given, backings, tries, executor, database, schema, ...others } = options;
  const { store: _, tenantOf, eventStreamsMax, path, statusBasePath, ...rest } = others;
  const { clock, rng, logger } = rest;
  const routes =
    given && new RouteExecutor({ ...tries, routes: given, backings, clock, rng, logger } as never);
  const store = storeOf(options);
  const basePath = statusBasePath ?? (path === undefined ? undefined : `/${path}`);
  const settings = {
    ...rest,
    ...(basePath !== undefined && { statusBasePath: basePath }),
    executor: (executor ?? routes) as Executor,
    store: store.store,
  };
  return { routes, store, settings };
}

/**
 * Validates the options without making an orchestrator, which would listen to an executor and a store that others use.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ROUTE_INVALID`.
 */
export function checkSetup(options: CheckedModuleOptions): void {
  const { routes, settings } = setupOf(options);
  routes?.close();
  resolveOrchestratorOptions(settings);
}

/** A store and the step before its first use. */
interface ModuleStore {
  readonly store: OperationStore;
  /** Warns about what the store does not survive, and makes the tables of an embedded database. */
  prepare(): Promise<void>;
}

function storeOf(options: CheckedModuleOptions): ModuleStore {
  const { store, database = 'memory', schema } = options;
  const clock = options.clock as Clock | undefined;
  const logger = options.logger as Logger;
  if (store) return { store, prepare: async () => {} };
  if (database === 'memory') {
    const prepare = async () =>
      logger.warn(
        {},
        'Operations are stored in memory and end with this process; to keep them, set `database`',
      );
    return { store: new MemoryOperationStore({ clock }), prepare };
  }
  return {
    store: new PostgresOperationStore({ database, schema, clock, logger }),
    async prepare() {
      if (database.kind !== 'pglite') return;
      logger.warn(
        {},
        'Operations are stored in an embedded database: a crash of the machine may lose acknowledged ones, and no other process can use it; to avoid both, use a PostgreSQL',
      );
      // No other process can open it to run a migration.
      await migrateOrchestrator(database, { schema });
    },
  };
}
