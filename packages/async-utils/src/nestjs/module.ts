import { type DynamicModule, Inject, Module, type OnModuleInit, type Provider } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { Binding } from './binding.js';
import {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsAsyncOptions,
  type AsyncUtilsConfig,
  type AsyncUtilsConfigFactory,
} from './options.js';
import { checkConfig } from './validation.js';

const bindings = new WeakMap<ModulesContainer, Binding>();

/**
 * Gives one application its settings for the decorators and interceptors; import it once, in the root module.
 *
 * The settings are bound to the instances of this application, so two applications in one process do not share. They
 * hold before any `onModuleInit` of the application runs, and for request-scoped and transient providers as soon as
 * Nest has made them. The library's defaults hold in the constructor of a provider, and for instances that Nest does
 * not record: those of `new`, `moduleRef.create`, request-scoped factories, circular request-scoped providers, and
 * modules loaded lazily.
 */
export class AsyncUtilsModule implements OnModuleInit {
  readonly #binding: Binding;

  /**
   * @throws TypeError when the module is configured twice, or a decorated method has no time limit or concurrency.
   */
  constructor(config: AsyncUtilsConfig, modules: ModulesContainer) {
    this.#binding = bindings.get(modules) ?? new Binding(modules, config);
    if (this.#binding.settings !== config)
      throw new TypeError('AsyncUtilsModule: configured twice in one application, expected once');
    bindings.set(modules, this.#binding);
    // Nest starts the modules farthest from the root first: so this one starts before every other.
    for (const module of modules.values())
      if (module.metatype === AsyncUtilsModule) module.distance = Number.POSITIVE_INFINITY;
    this.#binding.bind();
  }

  /**
   * The module with settings known at once.
   * @param config - see AsyncUtilsConfig; without it the library's defaults hold.
   * @returns a global module.
   * @throws TypeError or RangeError for bad settings.
   */
  static forRoot(config: AsyncUtilsConfig = {}): DynamicModule {
    return moduleWith([{ provide: ASYNC_UTILS_CONFIG, useValue: checkConfig(config) }]);
  }

  /**
   * The module with settings that other providers give; bad ones end the start with a TypeError or RangeError.
   * @param options - `imports`, `inject` and one of `useFactory`, `useClass`, `useExisting`.
   * @returns a global module.
   * @throws TypeError unless exactly one source is given.
   */
  static forRootAsync(options: AsyncUtilsAsyncOptions): DynamicModule {
    const { imports = [], inject = [], useFactory, useClass, useExisting } = options;
    const factory = useClass ?? useExisting;
    if ([useFactory, useClass, useExisting].filter(Boolean).length !== 1)
      throw new TypeError('AsyncUtilsModule: expected exactly one of useFactory, useClass and useExisting');
    const create = useFactory ?? ((from: AsyncUtilsConfigFactory) => from.createAsyncUtilsConfig());
    const config = {
      provide: ASYNC_UTILS_CONFIG,
      inject: factory ? [factory] : inject,
      useFactory: async (...args: never[]) =>
        checkConfig(await (create as (...args: never[]) => unknown)(...args)),
    };
    return { ...moduleWith(useClass ? [useClass, config] : [config]), imports };
  }

  /** Now that all instances of the start exist, binds what factories have made, and middleware. */
  onModuleInit(): void {
    this.#binding.bind();
    this.#binding.settle();
  }
}

function moduleWith(providers: Provider[]): DynamicModule {
  return { module: AsyncUtilsModule, global: true, providers, exports: [ASYNC_UTILS_CONFIG] };
}

// Called by hand, here and in the interceptors: this source compiles under either decorator system.
Module({})(AsyncUtilsModule);
Inject(ASYNC_UTILS_CONFIG)(AsyncUtilsModule, undefined, 0);
Inject(ModulesContainer)(AsyncUtilsModule, undefined, 1);
