import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Operations } from '../operations.js';
import { OrchestratorService } from '../orchestrator-service.js';
import { operationsControllerAt } from './operations-controller.js';
import {
  type CheckedModuleOptions,
  checkModuleOptions,
  controllerPath,
  type OrchestratorModuleAsyncOptions,
  type OrchestratorModuleOptions,
  type OrchestratorModuleShape,
  type OrchestratorOptionsFactory,
  optionInvalid,
} from './options.js';
import { checkSetup, OrchestratorHost } from './orchestrator-host.js';
import { ORCHESTRATOR } from './tokens.js';

const OPTIONS = Symbol('ORCHESTRATOR_OPTIONS');

/**
 * Gives an application its front door; import it once, in the root module.
 *
 * Commands can be submitted as soon as modules bootstrap. Work of others is taken when everything else has started. At the end callers who wait get
 * their status URLs, and work that runs is drained before anything else is destroyed, so handlers always find what they use. A shutdown by
 * signal needs `app.enableShutdownHooks()`, as everywhere in Nest.
 */
export class OrchestratorModule implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #host: OrchestratorHost;
  readonly #modules: ModulesContainer;

  constructor(host: OrchestratorHost, modules: ModulesContainer) {
    this.#host = host;
    this.#modules = modules;
    // Nest starts the modules farthest from the root first and ends them last: this one is nearer than the root.
    for (const module of modules.values()) if (module.metatype === OrchestratorModule) module.distance = -1;
  }

  /**
   * The module with options known at once.
   * @param options - `routes` or `executor`, `database` or `store`, `controller`, `path`, `tenantOf` and the options of an orchestrator.
   * @returns a global module that exports ORCHESTRATOR, OrchestratorService, Operations and OrchestratorHost.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `ROUTE_INVALID`.
   */
  static forRoot(options: OrchestratorModuleOptions & OrchestratorModuleShape): DynamicModule {
    const { controller, path, ...rest } = options ?? {};
    const at = controllerPath({ controller, path });
    const checked = checkModuleOptions(rest);
    checkSetup(checked, at);
    // By a function: before version 11 Nest writes out what it is given as a value, a Database too.
    return moduleWith(at, [{ provide: OPTIONS, useFactory: () => checked }]);
  }

  /**
   * The module with options that other providers give; bad ones end the start with the same errors.
   * @param options - `controller`, `path`, `imports`, `inject` and one of `useFactory`, `useClass`, `useExisting`.
   * @returns a global module, as `forRoot` does.
   * @throws MillraceError `OPTION_INVALID` unless exactly one source is given.
   */
  static forRootAsync(options: OrchestratorModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, useClass, useExisting } = options;
    const sources = Object.entries({ useFactory, useClass, useExisting }).filter(([, source]) => source);
    if (sources.length !== 1) {
      const given = sources.map(([source]) => source).join(', ') || 'none';
      throw optionInvalid('the source', 'exactly one of useFactory, useClass and useExisting', given);
    }
    const factory = useClass ?? useExisting;
    const create = useFactory ?? ((from: OrchestratorOptionsFactory) => from.createOrchestratorOptions());
    const give = create as (
      ...args: never[]
    ) => OrchestratorModuleOptions | Promise<OrchestratorModuleOptions>;
    const provider = {
      provide: OPTIONS,
      inject: factory ? [factory] : inject,
      useFactory: async (...args: never[]) => checkModuleOptions(await give(...args)),
    };
    return moduleWith(controllerPath(options), useClass ? [useClass, provider] : [provider], imports);
  }

  /** The same as `forRoot`. */
  static register(options: OrchestratorModuleOptions & OrchestratorModuleShape): DynamicModule {
    return OrchestratorModule.forRoot(options);
  }

  /** The same as `forRootAsync`. */
  static registerAsync(options: OrchestratorModuleAsyncOptions): DynamicModule {
    return OrchestratorModule.forRootAsync(options);
  }

  /** Makes the store ready, for whoever submits while the application starts. */
  async onModuleInit(): Promise<void> {
    const count = [...this.#modules.values()].filter(
      ({ metatype }) => metatype === OrchestratorModule,
    ).length;
    if (count > 1) throw optionInvalid('forRoot', 'imported once', count);
    await this.#host.prepare();
  }

  /** Takes work, after all else has started. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.#host.start();
    } catch (error) {
      // A start that fails leaves nothing behind.
      await this.#host.drain();
      throw error;
    }
  }

  /** Lets callers go and ends the work, before all else. */
  async onModuleDestroy(): Promise<void> {
    await this.#host.drain();
  }
}

/** What an application can inject, and where it comes from. */
const PROVISIONS: readonly (readonly [
  Exclude<Extract<Provider, { provide: unknown }>['provide'], string>,
  (host: OrchestratorHost) => unknown,
])[] = [
  [ORCHESTRATOR, ({ orchestrator }) => orchestrator],
  [OrchestratorService, ({ orchestrator }) => orchestrator],
  [Operations, ({ operations }) => operations],
];

function moduleWith(
  path: string | undefined,
  providers: Provider[],
  imports: DynamicModule['imports'] = [],
): DynamicModule {
  return {
    module: OrchestratorModule,
    global: true,
    imports,
    controllers: path === undefined ? [] : [operationsControllerAt(path)],
    providers: [
      ...providers,
      {
        provide: OrchestratorHost,
        inject: [OPTIONS],
        useFactory: (options: CheckedModuleOptions) => new OrchestratorHost(options, path),
      },
      ...PROVISIONS.map(([provide, from]) => ({ provide, inject: [OrchestratorHost], useFactory: from })),
    ],
    exports: [OrchestratorHost, ...PROVISIONS.map(([provide]) => provide)],
  };
}

// Called by hand: this source compiles under either decorator system.
Module({})(OrchestratorModule);
Inject(OrchestratorHost)(OrchestratorModule, undefined, 0);
Inject(ModulesContainer)(OrchestratorModule, undefined, 1);
