import { optionInvalid } from '@millrace/foundation';
import { optionsModule, providersFrom, startLast } from '@millrace/foundation/nestjs';
import {
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Operations } from '../operations.js';
import { OrchestratorService } from '../orchestrator-service.js';
import { operationsControllerAt } from './operations-controller.js';
import {
  type CheckedModuleOptions,
  checkModuleOptions,
  controllerPath,
  ORCHESTRATOR,
  type OrchestratorModuleOptions,
  type OrchestratorModuleShape,
  OWNER,
} from './options.js';
import { checkSetup, OrchestratorHost } from './orchestrator-host.js';

const OPTIONS = Symbol('ORCHESTRATOR_OPTIONS');

/** The injectables of an application. */
const PROVIDED = providersFrom(OrchestratorHost, [
  [ORCHESTRATOR, ({ orchestrator }) => orchestrator],
  [OrchestratorService, ({ orchestrator }) => orchestrator],
  [Operations, ({ operations }) => operations],
]);

const Base = optionsModule({
  name: OWNER,
  token: OPTIONS,
  factoryMethod: 'createOrchestratorOptions',
  extras: ['controller', 'path'],
  check(given: OrchestratorModuleOptions, shape: OrchestratorModuleShape) {
    const options = checkModuleOptions(given, controllerPath(shape));
    checkSetup(options);
    return options;
  },
  define(shape: OrchestratorModuleShape) {
    const path = controllerPath(shape);
    return {
      controllers: path === undefined ? [] : [operationsControllerAt(path)],
      providers: [
        {
          provide: OrchestratorHost,
          inject: [OPTIONS],
          useFactory: (options: CheckedModuleOptions) => new OrchestratorHost(options),
        },
        ...PROVIDED,
      ],
      exports: [OrchestratorHost, ...PROVIDED.map(({ provide }) => provide)],
    };
  },
});

/**
 * Gives an application its orchestrator. Import it once, in the root module. It exports ORCHESTRATOR,
 * OrchestratorService, Operations and OrchestratorHost.
 *
 * Commands can be submitted as soon as modules bootstrap. Attempts of other instances are claimed after all other
 * providers have started. At the shutdown waiting callers get their status URLs, and running work is drained before any
 * other provider is destroyed, so a handler always finds what it needs. A shutdown by signal requires
 * `app.enableShutdownHooks()`.
 */
export class OrchestratorModule
  extends Base
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy
{
  readonly #host: OrchestratorHost;
  readonly #imported: number;

  constructor(host: OrchestratorHost, modules: ModulesContainer) {
    super();
    this.#host = host;
    this.#imported = startLast(modules, OrchestratorModule);
  }

  /** Prepares the store, because other providers may submit while the application starts. */
  async onModuleInit(): Promise<void> {
    if (this.#imported > 1) throw optionInvalid(OWNER, 'forRoot', 'imported once', this.#imported);
    await this.#host.prepare();
  }

  /** Starts to claim work. */
  async onApplicationBootstrap(): Promise<void> {
    try {
      await this.#host.start();
    } catch (error) {
      // A start that fails leaves nothing that runs.
      await this.#host.drain();
      throw error;
    }
  }

  /** Drains the work. */
  async onModuleDestroy(): Promise<void> {
    await this.#host.drain();
  }
}

// Called as functions: this source compiles under either decorator system.
Module({})(OrchestratorModule);
Inject(OrchestratorHost)(OrchestratorModule, undefined, 0);
Inject(ModulesContainer)(OrchestratorModule, undefined, 1);
