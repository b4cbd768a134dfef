import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { Batches } from '../batches.js';
import { Dags } from '../dags.js';
import type { DagDefinition } from '../define-dag.js';
import { Outbox } from '../outbox.js';
import { Poller } from '../poller.js';
import { Pusher } from '../pusher.js';
import { DagRegistry } from '../registry.js';
import { Schedules } from '../schedules.js';
import { TaskDiscovery } from './discovery.js';
import {
  type CheckedModuleOptions,
  checkModuleOptions,
  type OutboxModuleAsyncOptions,
  type OutboxModuleOptions,
  type OutboxOptionsFactory,
  OWNER,
  optionInvalid,
  requireDags,
} from './options.js';
import { OutboxHost } from './outbox-host.js';
import { OUTBOX_DATABASE } from './tokens.js';

const OPTIONS = Symbol('OUTBOX_OPTIONS');

/**
 * Gives an application its outbox; import it once, in the root module.
 *
 * Batches can be started as soon as modules bootstrap. Tasks run when everything else has started, and are drained before anything else is
 * destroyed, so handlers always find what they use. A database that the module opened is closed last. A shutdown by signal needs
 * `app.enableShutdownHooks()`, as everywhere in Nest.
 */
export class OutboxModule
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  readonly #host: OutboxHost;
  readonly #discovery: TaskDiscovery;
  readonly #modules: ModulesContainer;

  constructor(host: OutboxHost, discovery: TaskDiscovery, modules: ModulesContainer) {
    this.#host = host;
    this.#discovery = discovery;
    this.#modules = modules;
    // Nest starts the modules farthest from the root first and ends them last: this one is nearer than the root.
    for (const module of modules.values()) if (module.metatype === OutboxModule) module.distance = -1;
  }

  /**
   * The module with options known at once.
   * @param options - `database`, `dags` and the options of an Outbox: see OutboxModuleOptions.
   * @returns a global module that exports Outbox, Pusher, Batches, DagRegistry, Dags, Poller, Schedules and OUTBOX_DATABASE.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  static forRoot(options: OutboxModuleOptions = {}): DynamicModule {
    const checked = checkModuleOptions(options);
    // By a function: before version 11 Nest writes out what it is given as a value, a Database too.
    return moduleWith([{ provide: OPTIONS, useFactory: () => checked }]);
  }

  /**
   * The module with options that other providers give; bad ones end the start with the same errors.
   * @param options - `imports`, `inject` and one of `useFactory`, `useClass`, `useExisting`.
   * @returns a global module, as `forRoot` does.
   * @throws MillraceError `OPTION_INVALID` unless exactly one source is given.
   */
  static forRootAsync(options: OutboxModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, useClass, useExisting } = options;
    const sources = Object.entries({ useFactory, useClass, useExisting }).filter(([, source]) => source);
    if (sources.length !== 1) {
      const given = sources.map(([source]) => source).join(', ') || 'none';
      throw optionInvalid(OWNER, 'the source', 'exactly one of useFactory, useClass and useExisting', given);
    }
    const factory = useClass ?? useExisting;
    const create = useFactory ?? ((from: OutboxOptionsFactory) => from.createOutboxOptions());
    const give = create as (...args: never[]) => OutboxModuleOptions | Promise<OutboxModuleOptions>;
    const provider = {
      provide: OPTIONS,
      inject: factory ? [factory] : inject,
      useFactory: async (...args: never[]) => checkModuleOptions(await give(...args)),
    };
    return moduleWith(useClass ? [useClass, provider] : [provider], imports);
  }

  /** The same as `forRoot`. */
  static register(options: OutboxModuleOptions = {}): DynamicModule {
    return OutboxModule.forRoot(options);
  }

  /** The same as `forRootAsync`. */
  static registerAsync(options: OutboxModuleAsyncOptions): DynamicModule {
    return OutboxModule.forRootAsync(options);
  }

  /**
   * Brings DAGs, from any module.
   * @param dags - made with `defineDag`; tasks without a `run` have a method under `@OutboxTask` somewhere in the application.
   * @returns a module; it needs `forRoot` in the root module.
   * @throws MillraceError `OPTION_INVALID`; a DAG that cannot be used ends the start as `DAG_INVALID`.
   */
  static forFeature(dags: readonly DagDefinition[]): DynamicModule {
    requireDags('OutboxModule.forFeature', dags);
    // A class for each call: before version 11 Nest takes modules of one class for one where their metadata reads the same.
    class OutboxFeatureModule {}
    Module({})(OutboxFeatureModule);
    const registration: Provider = {
      provide: Symbol('OUTBOX_DAGS'),
      inject: [DagRegistry],
      useFactory: (registry: DagRegistry) => {
        for (const dag of dags) registry.add(dag);
        return dags;
      },
    };
    return { module: OutboxFeatureModule, providers: [registration] };
  }

  /** All instances exist, so every handler is found. */
  async onModuleInit(): Promise<void> {
    try {
      const count = [...this.#modules.values()].filter(({ metatype }) => metatype === OutboxModule).length;
      if (count > 1)
        throw optionInvalid(
          OWNER,
          'forRoot',
          'imported once; feature modules bring DAGs by forFeature',
          count,
        );
      this.#host.bind(this.#discovery.find());
      await this.#host.prepare();
    } catch (error) {
      // A start that fails leaves no connection open.
      await this.#host.close();
      throw error;
    }
  }

  /** Runs tasks, after all else has started. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.#host.start();
    } catch (error) {
      await this.#host.close();
      throw error;
    }
  }

  /** Ends the tasks, before all else. */
  async onModuleDestroy(): Promise<void> {
    await this.#host.drain();
  }

  /** Closes the database, if the module opened it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#host.close();
  }
}

/** What an application can inject, and where it comes from. */
const PROVISIONS: readonly (readonly [
  Exclude<Extract<Provider, { provide: unknown }>['provide'], string>,
  (host: OutboxHost) => unknown,
])[] = [
  [Outbox, ({ outbox }) => outbox],
  [Pusher, ({ outbox }) => outbox.pusher],
  [Batches, ({ outbox }) => outbox.batches],
  [DagRegistry, ({ outbox }) => outbox.registry],
  [Dags, ({ outbox }) => outbox.dags],
  [Poller, ({ outbox }) => outbox.poller],
  [Schedules, ({ outbox }) => outbox.schedules],
  [OUTBOX_DATABASE, ({ database }) => database],
];

function moduleWith(providers: Provider[], imports: DynamicModule['imports'] = []): DynamicModule {
  return {
    module: OutboxModule,
    global: true,
    imports: [DiscoveryModule, ...imports],
    providers: [
      ...providers,
      {
        provide: OutboxHost,
        inject: [OPTIONS],
        useFactory: (options: CheckedModuleOptions) => new OutboxHost(options),
      },
      TaskDiscovery,
      ...PROVISIONS.map(([provide, from]) => ({ provide, inject: [OutboxHost], useFactory: from })),
    ],
    exports: PROVISIONS.map(([provide]) => provide),
  };
}

// Called by hand: this source compiles under either decorator system.
Module({})(OutboxModule);
Inject(OutboxHost)(OutboxModule, undefined, 0);
Inject(TaskDiscovery)(OutboxModule, undefined, 1);
Inject(ModulesContainer)(OutboxModule, undefined, 2);
