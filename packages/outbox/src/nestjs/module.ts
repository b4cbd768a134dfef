import { optionInvalid } from '@millrace/foundation';
import { optionsModule, providersFrom, startLast } from '@millrace/foundation/nestjs';
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
  OUTBOX_DATABASE,
  type OutboxModuleOptions,
  OWNER,
  requireDags,
} from './options.js';
import { OutboxHost } from './outbox-host.js';

const OPTIONS = Symbol('OUTBOX_OPTIONS');

/** The injectables of an application. */
const PROVIDED = providersFrom(OutboxHost, [
  [Outbox, ({ outbox }) => outbox],
  [Pusher, ({ outbox }) => outbox.pusher],
  [Batches, ({ outbox }) => outbox.batches],
  [DagRegistry, ({ outbox }) => outbox.registry],
  [Dags, ({ outbox }) => outbox.dags],
  [Poller, ({ outbox }) => outbox.poller],
  [Schedules, ({ outbox }) => outbox.schedules],
  [OUTBOX_DATABASE, ({ database }) => database],
]);

const Base = optionsModule({
  name: OWNER,
  token: OPTIONS,
  factoryMethod: 'createOutboxOptions',
  extras: [],
  check: (options: OutboxModuleOptions) => checkModuleOptions(options),
  define: () => ({
    imports: [DiscoveryModule],
    providers: [
      {
        provide: OutboxHost,
        inject: [OPTIONS],
        useFactory: (options: CheckedModuleOptions) => new OutboxHost(options),
      },
      TaskDiscovery,
      ...PROVIDED,
    ],
    exports: PROVIDED.map(({ provide }) => provide),
  }),
});

/**
 * Gives an application its outbox. Import it once, in the root module. It exports Outbox, Pusher, Batches, DagRegistry,
 * Dags, Poller, Schedules and OUTBOX_DATABASE.
 *
 * Batches can be started as soon as modules bootstrap. Tasks run after all other providers have started and are drained
 * before them, so a handler always finds what it needs. A database that the module opened is closed last. A shutdown by
 * signal requires `app.enableShutdownHooks()`.
 */
export class OutboxModule
  extends Base
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  readonly #host: OutboxHost;
  readonly #discovery: TaskDiscovery;
  readonly #imported: number;

  constructor(host: OutboxHost, discovery: TaskDiscovery, modules: ModulesContainer) {
    super();
    this.#host = host;
    this.#discovery = discovery;
    this.#imported = startLast(modules, OutboxModule);
  }

  /**
   * Adds DAGs from any module. It requires `forRoot` in the root module.
   * @param dags - made with `defineDag`. Tasks without `run` have a method under `@OutboxTask` in the application.
   * @throws MillraceError `OPTION_INVALID`. An unusable DAG fails the start with `DAG_INVALID`.
   */
  static forFeature(dags: readonly DagDefinition[]): DynamicModule {
    requireDags('OutboxModule.forFeature', dags);
    // A class per call: before version 11, Nest treats two modules of one class with equal metadata as one.
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

  /** Finds the decorated methods, as all instances exist now, and prepares the database. */
  onModuleInit(): Promise<void> {
    return this.#closeOnFailure(async () => {
      const expected = 'imported once; feature modules bring DAGs by forFeature';
      if (this.#imported > 1) throw optionInvalid(OWNER, 'forRoot', expected, this.#imported);
      this.#host.bind(this.#discovery.find());
      await this.#host.prepare();
    });
  }

  /** Starts to run tasks. */
  onApplicationBootstrap(): Promise<void> {
    return this.#closeOnFailure(() => this.#host.start());
  }

  /** Drains the tasks. */
  async onModuleDestroy(): Promise<void> {
    await this.#host.drain();
  }

  /** Closes the database if the module opened it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#host.close();
  }

  /** A start that fails leaves no connection open. */
  async #closeOnFailure(step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      await this.#host.close();
      throw error;
    }
  }
}

// Called as functions: this source compiles under either decorator system.
Module({})(OutboxModule);
Inject(OutboxHost)(OutboxModule, undefined, 0);
Inject(TaskDiscovery)(OutboxModule, undefined, 1);
Inject(ModulesContainer)(OutboxModule, undefined, 2);
