import { optionsModule, startLast } from '@millrace/foundation/nestjs';
import {
  type DynamicModule,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { DiscoveryModule, ModulesContainer } from '@nestjs/core';
import { optionInvalid } from '../refusals.js';
import { BulkActionDiscovery, type Found } from './discovery.js';
import { EngineHost } from './engine-host.js';
import {
  type BulkActionModuleOptions,
  checkEngineName,
  type EngineName,
  type ResolvedBulkActionModuleOptions,
  resolveModuleOptions,
} from './options.js';
import { providersOf } from './provisions.js';
import {
  type AggregatorSource,
  featureModule,
  type ProcessorSource,
  type RegistrationOptions,
} from './registration.js';

const OPTIONS = Symbol('BULK_ACTION_OPTIONS');
const NAME = Symbol('BULK_ACTION_NAME');
const OWNER = 'BulkActionModule';

const Base = optionsModule({
  name: OWNER,
  token: OPTIONS,
  factoryMethod: 'createBulkActionOptions',
  extras: ['name'],
  check: (options: BulkActionModuleOptions) => resolveModuleOptions(options),
  define({ name }: EngineName) {
    const provided = providersOf(checkEngineName(name));
    return {
      imports: [DiscoveryModule],
      providers: [
        { provide: NAME, useValue: { name } },
        {
          provide: EngineHost,
          inject: [OPTIONS],
          useFactory: (options: ResolvedBulkActionModuleOptions) => EngineHost.make(options, name),
        },
        BulkActionDiscovery,
        ...provided,
      ],
      exports: provided.map(({ provide }) => provide),
    };
  },
});

/**
 * Gives an application its engine; import it once, in the root module, and again under another `name` for another engine.
 *
 * The pool starts when everything else has started, with the processors of all modules, and is drained before anything else is destroyed,
 * so processors always find what they use. The store is closed last: requests that are under way can still hand in jobs. A shutdown by
 * signal needs `app.enableShutdownHooks()`, as everywhere in Nest.
 */
export class BulkActionModule
  extends Base
  implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown
{
  /** The name of its engine; undefined for the application's usual one. */
  readonly engineName: string | undefined;
  readonly #host: EngineHost;
  readonly #discovery: BulkActionDiscovery;
  readonly #modules: ModulesContainer;

  /**
   * Called by Nest.
   * @param host - the engine.
   * @param name - `{ name }` of the engine.
   * @param discovery - finds what the modules bring.
   * @param modules - the modules of the application.
   */
  constructor(
    host: EngineHost,
    { name }: EngineName,
    discovery: BulkActionDiscovery,
    modules: ModulesContainer,
  ) {
    super();
    this.engineName = name;
    this.#host = host;
    this.#discovery = discovery;
    this.#modules = modules;
    startLast(modules, BulkActionModule);
  }

  /**
   * Brings processors, from any module: instances, and classes that Nest makes here. A class that needs what its own module provides and
   * does not export is better a provider there, under `@BulkProcessor`.
   * @param processors - each with a `type`, or under `@BulkProcessor`.
   * @param options - `imports`: modules whose exports the classes inject; `engine`: for which engine.
   * @returns a module that exports the classes.
   * @throws MillraceError `OPTION_INVALID`; two processors of one type end the start as `PROCESSOR_CONFLICT`.
   */
  static registerProcessors(
    processors: readonly ProcessorSource[],
    options: RegistrationOptions = {},
  ): DynamicModule {
    return featureModule('processors', processors, options);
  }

  /**
   * The same for aggregators.
   * @param aggregators - instances or classes.
   * @param options - see `registerProcessors`.
   * @returns a module that exports the classes.
   * @throws MillraceError `OPTION_INVALID`; two aggregators of one type end the start as `AGGREGATOR_CONFLICT`.
   */
  static registerAggregators(
    aggregators: readonly AggregatorSource[],
    options: RegistrationOptions = {},
  ): DynamicModule {
    return featureModule('aggregators', aggregators, options);
  }

  /** Called by Nest: all instances exist, so every processor is found, before the pool starts. */
  async onModuleInit(): Promise<void> {
    try {
      this.#registerAll();
    } catch (error) {
      // Others may have handed in jobs already: a start that fails leaves no connection open.
      await this.#host.close();
      throw error;
    }
  }

  #registerAll(): void {
    const engines = this.#engineNames();
    const { processors, aggregators } = this.#discovery.find();
    for (const { engine, origin } of [...processors, ...aggregators])
      if (!engines.includes(engine))
        throw optionInvalid(origin, 'engine', `one of ${shown(engines)}`, engine);
    const isOwn = ({ engine }: Found<unknown>) => engine === this.engineName;
    this.#host.register({
      processors: processors.filter(isOwn),
      aggregators: aggregators.filter(isOwn),
    });
  }

  /** Called by Nest: starts the pool, after all else. */
  async onApplicationBootstrap(): Promise<void> {
    await this.#host.start();
  }

  /** Called by Nest: drains the pool, before all else; all engines together, or their grace periods would add up. */
  async onModuleDestroy(): Promise<void> {
    await Promise.all(this.#engines().map((engine) => engine.#host.drain()));
  }

  /** Called by Nest: closes the store and its connection. */
  async onApplicationShutdown(): Promise<void> {
    await this.#host.close();
  }

  #engines(): readonly BulkActionModule[] {
    return [...this.#modules.values()]
      .filter(({ metatype }) => metatype === BulkActionModule)
      .map(({ instance }) => instance as unknown as BulkActionModule);
  }

  #engineNames(): readonly (string | undefined)[] {
    const names = this.#engines().map(({ engineName }) => engineName);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (new Set(names).size < names.length)
      throw optionInvalid(OWNER, 'name', 'another one for each engine; register one engine once', twice);
    return names;
  }
}

const shown = (engines: readonly (string | undefined)[]): string =>
  engines.map((name) => name ?? 'none (the usual engine)').join(', ');

// Called by hand: this source compiles under either decorator system.
Module({})(BulkActionModule);
Inject(EngineHost)(BulkActionModule, undefined, 0);
Inject(NAME)(BulkActionModule, undefined, 1);
Inject(BulkActionDiscovery)(BulkActionModule, undefined, 2);
Inject(ModulesContainer)(BulkActionModule, undefined, 3);
