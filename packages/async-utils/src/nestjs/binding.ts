import type { ModulesContainer } from '@nestjs/core';
import { layersOf } from './call.js';
import type { AsyncUtilsConfig } from './options.js';
import { impersonate, methodsOf, planOf } from './plan.js';
import { type InstanceState, stateOf } from './settings.js';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = ReturnType<Module['controllers']['values']> extends Iterable<infer W> ? W : never;
type Constructor = new (...args: unknown[]) => object;

/** Gives the settings of one application to its instances: those that exist, and those that Nest makes later. */
export class Binding {
  readonly settings: AsyncUtilsConfig;
  readonly #modules: ModulesContainer;
  readonly #classes = new Map<Wrapper, Constructor>();
  // By prototype: the limits that all instances of a REQUEST- or TRANSIENT-scoped class share in this application.
  readonly #limits = new WeakMap<object, InstanceState['limits']>();

  constructor(modules: ModulesContainer, settings: AsyncUtilsConfig) {
    this.#modules = modules;
    this.settings = settings;
  }

  /**
   * Binds all providers, controllers, guards, pipes, interceptors, filters and middleware known so far.
   * @throws TypeError when a decorated method has no time limit or no concurrency.
   */
  bind(): void {
    for (const module of this.#modules.values())
      for (const wrappers of [module.providers, module.controllers, module.injectables, module.middlewares])
        for (const wrapper of wrappers.values()) this.#bindWrapper(wrapper as Wrapper);
  }

  /** Puts the classes back that make no more instances. */
  settle(): void {
    for (const [wrapper, metatype] of this.#classes)
      if (!wrapper.isTransient && wrapper.isDependencyTreeStatic()) wrapper.metatype = metatype;
  }

  #bindWrapper(wrapper: Wrapper): void {
    const instances = [wrapper, ...wrapper.getStaticTransientInstances()].map(
      (host) => host?.instance as unknown,
    );
    for (const instance of instances)
      if (typeof instance === 'object' && instance) {
        checkPlans(Object.getPrototypeOf(instance), this.settings);
        // Decorated or not: a private method that is shows nowhere.
        this.#own(instance, wrapper.isTransient);
      }
    const { metatype } = wrapper;
    if (
      this.#classes.has(wrapper) ||
      wrapper.isNotMetatype ||
      !checkPlans(metatype?.prototype, this.settings)
    )
      return;
    this.#classes.set(wrapper, metatype as Constructor);
    wrapper.metatype = announcing(metatype as Constructor, (instance) =>
      this.#own(instance, wrapper.isTransient || !wrapper.isDependencyTreeStatic()),
    );
  }

  /** Gives an instance its settings; `isShared` says that Nest makes more than one instance of its class. */
  #own(instance: object, isShared: boolean): void {
    const state = stateOf(instance);
    state.settings = this.settings;
    if (!isShared) return;
    const prototype = Object.getPrototypeOf(instance);
    const limits = this.#limits.get(prototype) ?? new Map();
    this.#limits.set(prototype, limits);
    state.limits = limits;
  }
}

/** Checks the decorated methods of a prototype against the settings; tells whether there are any. */
function checkPlans(prototype: object | null, settings: AsyncUtilsConfig): boolean {
  let found = false;
  for (const [, method] of methodsOf(prototype)) {
    const plan = planOf(method);
    if (!plan) continue;
    found = true;
    layersOf(plan, settings, prototype);
  }
  return found;
}

/**
 * Nothing tells a module when Nest makes an instance: during the start, per request, or per use of a transient. So this
 * application's record of the class gets a constructor that announces what it made. The class itself, which other
 * applications may use, stays untouched.
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
