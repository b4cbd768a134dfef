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
import {
  invalid,
  queueToken,
  RUNTIME_OPTIONS,
  type RuntimeModuleAsyncOptions,
  type RuntimeModuleOptions,
  type RuntimeOptionsFactory,
  resolveRuntimeOptions,
} from './options.js';
import { makeQueues, RuntimeQueues } from './queues.js';
import { QueueWorkers } from './workers.js';

/**
 * Gives one application its queues, and workers for the methods under `@QueueWorker`; import it once, in the root
 * module.
 *
 * Workers start after everything else has started and are drained before anything else is destroyed, so handlers
 * always find what they use. A shutdown by signal needs `app.enableShutdownHooks()`, as everywhere in Nest.
 */
export class RuntimeModule implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #workers: QueueWorkers;

  constructor(workers: QueueWorkers, modules: ModulesContainer) {
    this.#workers = workers;
    // Nest starts the modules farthest from the root first and ends them last: this one is nearer than the root.
    for (const module of modules.values()) if (module.metatype === RuntimeModule) module.distance = -1;
  }

  /**
   * The module with options known at once.
   * @returns a global module that exports the queues (`queueToken`) and QueueWorkers.
   * @throws MillraceError `OPTION_INVALID`, `OPTION_UNKNOWN`.
   */
  static forRoot(options: RuntimeModuleOptions = {}): DynamicModule {
    const resolved = resolveRuntimeOptions(options);
    return moduleWith(Object.keys(resolved.queues), [{ provide: RUNTIME_OPTIONS, useValue: resolved }]);
  }

  /**
   * The module with options that other providers give; bad ones end the start with the same errors.
   * @param options - `queueNames`, `imports`, `inject` and one of `useFactory`, `useClass`, `useExisting`.
   * @returns a global module that exports the queues (`queueToken`) and QueueWorkers.
   * @throws MillraceError `OPTION_INVALID` unless exactly one source is given.
   */
  static forRootAsync(options: RuntimeModuleAsyncOptions): DynamicModule {
    const { imports = [], inject = [], queueNames = [], useFactory, useClass, useExisting } = options;
    const sources = Object.entries({ useFactory, useClass, useExisting }).filter(([, source]) => source);
    if (sources.length !== 1) {
      const given = sources.map(([name]) => name).join(', ') || 'none';
      throw invalid('the source', 'exactly one of useFactory, useClass and useExisting', given);
    }
    const factory = useClass ?? useExisting;
    const create = useFactory ?? ((from: RuntimeOptionsFactory) => from.createRuntimeOptions());
    const provider = {
      provide: RUNTIME_OPTIONS,
      inject: factory ? [factory] : inject,
      useFactory: async (...args: never[]) =>
        resolveRuntimeOptions(
          await (create as (...args: never[]) => RuntimeModuleOptions | Promise<RuntimeModuleOptions>)(
            ...args,
          ),
          queueNames,
        ),
    };
    return { ...moduleWith(queueNames, useClass ? [useClass, provider] : [provider]), imports };
  }

  /** All instances exist, so every decorated method is found. */
  onModuleInit(): void {
    this.#workers.discover();
  }

  /** Starts the workers. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#workers.start();
  }

  /** Drains and ends the workers, closes the queues that the module made. */
  async onModuleDestroy(): Promise<void> {
    await this.#workers.drain();
  }
}

function moduleWith(queueNames: readonly string[], providers: Provider[]): DynamicModule {
  const queues = queueNames.map((name) => ({
    provide: queueToken(name),
    inject: [RuntimeQueues],
    useFactory: (all: RuntimeQueues) => all.get(name)?.queue,
  }));
  return {
    module: RuntimeModule,
    global: true,
    providers: [
      ...providers,
      { provide: RuntimeQueues, inject: [RUNTIME_OPTIONS], useFactory: makeQueues },
      ...queues,
      QueueWorkers,
    ],
    exports: [RUNTIME_OPTIONS, QueueWorkers, ...queues.map(({ provide }) => provide)],
  };
}

// Called by hand: this source compiles under either decorator system.
Module({})(RuntimeModule);
Inject(QueueWorkers)(RuntimeModule, undefined, 0);
Inject(ModulesContainer)(RuntimeModule, undefined, 1);
