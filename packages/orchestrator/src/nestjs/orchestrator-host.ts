import type { Readable } from 'node:stream';
import { ERRORS } from '../errors.js';
import type { OpId } from '../op-id.js';
import type { Operations, TenantScope } from '../operations.js';
import { type OrchestratorOptions, resolveOrchestratorOptions, type TimeBudgetOptions } from '../options.js';
import { OrchestratorService } from '../orchestrator-service.js';
import type { Executor } from '../ports.js';
import { RouteExecutor } from '../route-executor.js';
import { openEventStream } from './event-stream.js';
import type { HttpRequest } from './http.js';
import type { CheckedModuleOptions, TenantOf } from './options.js';
import { type ModuleStore, storeOf } from './store-of.js';

/** The orchestrator of an application, and what its controller needs of it. */
export class OrchestratorHost {
  readonly orchestrator: OrchestratorService;
  readonly #tenantOf: TenantOf;
  readonly #hasOwnUrls: boolean;
  readonly #eventStreamsMax: number;
  readonly #routes: RouteExecutor | undefined;
  readonly #store: ModuleStore;
  #eventStreams = 0;

  /**
   * Makes an orchestrator; nothing runs yet.
   * @param path - of the controller; undefined when there is none.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ROUTE_INVALID`.
   */
  constructor(options: CheckedModuleOptions, path: string | undefined) {
    const { tenantOf = () => '', eventStreamsMax, statusBasePath } = options;
    const { routes, store, settings } = setupOf(options, path);
    this.#tenantOf = tenantOf;
    this.#hasOwnUrls = statusBasePath !== undefined;
    this.#eventStreamsMax = eventStreamsMax;
    this.#routes = routes;
    this.#store = store;
    this.orchestrator = new OrchestratorService(settings);
  }

  /** Questions about operations. */
  get operations(): Operations {
    return this.orchestrator.operations;
  }

  /** How long callers may wait. */
  get timeBudget(): TimeBudgetOptions {
    return this.orchestrator.options.timeBudget;
  }

  /**
   * Whose operations a request may see and make.
   * @throws what `tenantOf` throws.
   */
  async scopeOf(request: HttpRequest): Promise<TenantScope> {
    return { tenant: await this.#tenantOf(request) };
  }

  /**
   * The status URL of an operation that a request made: below the path that the request came by, so that it works under any prefix.
   * @param given - by the orchestrator: counts when the application has said where its URLs begin.
   */
  statusUrlOf(opId: OpId, path: string, given: string | null): string {
    return this.#hasOwnUrls && given !== null ? given : `${path}/${opId}/status`;
  }

  /**
   * Opens the stream of an operation.
   * @param options - whose; a signal that aborts when the client has gone.
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

  /** Streams of events that are open. */
  get eventStreams(): number {
    return this.#eventStreams;
  }

  /**
   * Makes the store ready: commands can be submitted then.
   * @throws MillraceError those of a migration.
   */
  async prepare(): Promise<void> {
    await this.#store.prepare();
  }

  /**
   * Runs what is due.
   * @throws MillraceError see `OrchestratorService.start`.
   */
  async start(): Promise<void> {
    await this.orchestrator.start();
  }

  /** Answers who waits with the status URL, lets work end within the grace period, gives the rest back. */
  async drain(): Promise<void> {
    await this.orchestrator.stop();
    this.#routes?.close();
  }
}

/** What an orchestrator is made of, before it is. */
interface Setup {
  readonly routes: RouteExecutor | undefined;
  readonly store: ModuleStore;
  readonly settings: OrchestratorOptions;
}

function setupOf(options: CheckedModuleOptions, path: string | undefined): Setup {
  const { routes: given, backings, tries, executor, database, schema, ...others } = options;
  const { store: _, tenantOf, eventStreamsMax, statusBasePath, ...rest } = others;
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
 * Refuses what no orchestrator can be made of. None is: it would listen to an executor and a store that others use.
 * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ROUTE_INVALID`.
 */
export function checkSetup(options: CheckedModuleOptions, path: string | undefined): void {
  const { routes, settings } = setupOf(options, path);
  routes?.close();
  resolveOrchestratorOptions(settings);
}
