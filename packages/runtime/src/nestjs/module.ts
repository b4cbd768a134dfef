import { optionsModule, startLast } from '@millrace/foundation/nestjs';
import {
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import {
  checkQueueNames,
  type QueueNames,
  queueToken,
  type ResolvedRuntimeModuleOptions,
  RUNTIME_OPTIONS,
  type RuntimeModuleOptions,
  resolveRuntimeOptions,
} from './options.js';
import { makeQueues, RuntimeQueues } from './queues.js';
import { QueueWorkers } from './workers.js';

const Base = optionsModule({
  name: 'RuntimeModule',
  token: RUNTIME_OPTIONS,
  factoryMethod: 'createRuntimeOptions',
  extras: ['queueNames'],
  check: (options: RuntimeModuleOptions) => resolveRuntimeOptions(options),
  define({ queueNames = [] }: QueueNames, checked) {
    const queues = (checked ? Object.keys(checked.queues) : queueNames).map((name) => ({
      provide: queueToken(name),
      inject: [RuntimeQueues],
      useFactory: (all: RuntimeQueues) => all.get(name)?.queue,
    }));
    return {
      providers: [
        {
          provide: RuntimeQueues,
          inject: [RUNTIME_OPTIONS],
          useFactory: (options: ResolvedRuntimeModuleOptions) => {
            if (!checked) checkQueueNames(options, queueNames);
            return makeQueues(options);
          },
        },
        ...queues,
        QueueWorkers,
      ],
      exports: [RUNTIME_OPTIONS, QueueWorkers, ...queues.map(({ provide }) => provide)],
    };
  },
});

/**
 * Gives an application its queues, and workers for the methods under `@QueueWorker`. Import it once, in the root module.
 *
 * Workers start after all other providers and drain before them, so a handler always finds what it needs. A shutdown by
 * signal requires `app.enableShutdownHooks()`. It exports the queues (`queueToken`) and QueueWorkers.
 */
export class RuntimeModule extends Base implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  readonly #workers: QueueWorkers;

  constructor(workers: QueueWorkers, modules: ModulesContainer) {
    super();
    this.#workers = workers;
    startLast(modules, RuntimeModule);
  }

  /** Finds the decorated methods: all instances exist now. */
  onModuleInit(): void {
    this.#workers.discover();
  }

  /** Starts the workers. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#workers.start();
  }

  /** Drains and stops the workers, then closes the queues that the module made. */
  async onModuleDestroy(): Promise<void> {
    await this.#workers.drain();
  }
}

// Called as functions: this source compiles under either decorator system.
Module({})(RuntimeModule);
Inject(QueueWorkers)(RuntimeModule, undefined, 0);
Inject(ModulesContainer)(RuntimeModule, undefined, 1);
