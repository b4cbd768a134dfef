import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  Inject,
  Module,
  type OnModuleInit,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { layersOf, stateOf } from './call.js';
import { impersonate, methodsOf, planOf } from './decorators.js';
import {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsAsyncOptions,
  type AsyncUtilsConfig,
  checkConfig,
} from './options.js';

const { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN } = new ConfigurableModuleBuilder<AsyncUtilsConfig>()
  .setClassMethodName('forRoot')
  .setFactoryMethodName('createAsyncUtilsConfig')
  .build();

const check = (config: unknown) => checkConfig('AsyncUtilsModule', config);
const CHECKED = { provide: ASYNC_UTILS_CONFIG, inject: [MODULE_OPTIONS_TOKEN], useFactory: check };

/**
 * Gives one application its settings for the decorators and interceptors. Import it once, in the root module.
 *
 * The settings are bound to the instances of this application, so two applications in one process do not share. They
 * hold before any `onModuleInit` of the application runs, and for request-scoped and transient providers as soon as
 * Nest has made them. The library's defaults hold in the constructor of a provider, and for instances that Nest does
 * not record: those of `new`, `moduleRef.create`, request-scoped factories, circular request-scoped providers, and
 * modules loaded lazily.
 */
export class AsyncUtilsModule implements OnModuleInit {
  readonly #binding: Binding;

  /** @throws TypeError if the module is configured twice, or a decorated method has no time limit or concurrency. */
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

  /** Defines the global module with settings known now. @throws TypeError or RangeError for invalid settings. */
  static forRoot(config: AsyncUtilsConfig = {}): DynamicModule {
    return complete(ConfigurableModuleClass.forRoot(check(config)));
  }

  /**
   * Defines the global module with settings that other providers make. Invalid ones end the start with a TypeError or
   * RangeError.
   * @throws TypeError unless there is exactly one source.
   */
  static forRootAsync(options: AsyncUtilsAsyncOptions): DynamicModule {
    if ([options.useFactory, options.useClass, options.useExisting].filter(Boolean).length !== 1)
      throw new TypeError('AsyncUtilsModule: expected exactly one of useFactory, useClass and useExisting');
    return complete(ConfigurableModuleClass.forRootAsync(options));
  }

  /** Binds what factories have made, and middleware: now all instances of the start exist. */
  onModuleInit(): void {
    this.#binding.bind();
    this.#binding.settle();
  }
}

const complete = ({ imports = [], providers = [] }: DynamicModule): DynamicModule => ({
  module: AsyncUtilsModule,
  global: true,
  imports,
  providers: [...providers, CHECKED],
  exports: [ASYNC_UTILS_CONFIG],
});

// Called by hand: this source compiles under either decorator system.
Module({})(AsyncUtilsModule);
Inject(ASYNC_UTILS_CONFIG)(AsyncUtilsModule, undefined, 0);
Inject(ModulesContainer)(AsyncUtilsModule, undefined, 1);

type NestModule = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = ReturnType<NestModule['controllers']['values']> extends Iterable<infer W> ? W : never;
type Constructor = new (...args: unknown[]) => object;

const bindings = new WeakMap<ModulesContainer, Binding>();

/**
 * Binds the settings of one application to its instances: those that exist, and those that Nest makes later.
 *
 *     module made     bind(): instances that exist; classes get a constructor that binds
 *     onModuleInit    bind(): results of factories, middleware; settle(): singletons get their class back
 *     per request     the constructor binds each new instance, and shares the limits of its class
 */
class Binding {
  readonly settings: AsyncUtilsConfig;
  readonly #modules: ModulesContainer;
  readonly #classes = new Map<Wrapper, Constructor>();
  // By prototype: the limits that all instances of a REQUEST- or TRANSIENT-scoped class share in this application.
  readonly #limits = new WeakMap<object, ReturnType<typeof stateOf>['limits']>();

  constructor(modules: ModulesContainer, settings: AsyncUtilsConfig) {
    this.#modules = modules;
    this.settings = settings;
  }

  /**
   * Binds all providers, controllers, guards, pipes, interceptors, filters and middleware known so far.
   * @throws TypeError if a decorated method has no time limit or no concurrency.
   */
  bind(): void {
    for (const module of this.#modules.values())
      for (const wrappers of [module.providers, module.controllers, module.injectables, module.middlewares])
        for (const wrapper of wrappers.values()) this.#bindWrapper(wrapper as Wrapper);
  }

  /** Restores the classes that make no more instances. */
  settle(): void {
    for (const [wrapper, metatype] of this.#classes)
      if (!wrapper.isTransient && wrapper.isDependencyTreeStatic()) wrapper.metatype = metatype;
  }

  #bindWrapper(wrapper: Wrapper): void {
    for (const { instance } of [wrapper, ...wrapper.getStaticTransientInstances()] as { instance: unknown }[])
      if (typeof instance === 'object' && instance) {
        this.#check(Object.getPrototypeOf(instance));
        // Decorated or not: methodsOf does not see a private method.
        this.#own(instance, wrapper.isTransient);
      }
    const metatype = wrapper.metatype as Constructor | null;
    if (this.#classes.has(wrapper) || wrapper.isNotMetatype || !metatype || !this.#check(metatype.prototype))
      return;
    this.#classes.set(wrapper, metatype);
    wrapper.metatype = announcing(metatype, (instance) =>
      this.#own(instance, wrapper.isTransient || !wrapper.isDependencyTreeStatic()),
    );
  }

  /** Checks the decorated methods of a prototype against the settings. Reports whether there are any. */
  #check(prototype: object | null): boolean {
    const plans = [...methodsOf(prototype)].flatMap(([, method]) => planOf(method) ?? []);
    for (const plan of plans) layersOf(plan, this.settings, prototype);
    return plans.length > 0;
  }

  /** Gives an instance its settings. `isShared` is true if Nest makes more than one instance of its class. */
  #own(instance: object, isShared: boolean): void {
    const state = stateOf(instance);
    state.settings = this.settings;
    if (!isShared) return;
    const prototype = Object.getPrototypeOf(instance);
    state.limits = this.#limits.get(prototype) ?? new Map();
    this.#limits.set(prototype, state.limits);
  }
}

/**
 * Makes a constructor that announces what it makes, for this application's record of the class: Nest reports no instance
 * that it makes during the start, per request, or per use of a transient. The class itself, which other applications may
 * use, stays as it is.
 */
function announcing(metatype: Constructor, announce: (instance: object) => void): Constructor {
  function Announced(...args: unknown[]): object {
    const instance = Reflect.construct(metatype, args);
    announce(instance);
    return instance;
  }
  Object.setPrototypeOf(Announced, metatype);
  return impersonate(Announced as unknown as Constructor, metatype);
}
