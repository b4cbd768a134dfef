import type { ModulesContainer } from '@nestjs/core';
import { layersOf } from './call.js';
import type { AsyncUtilsConfig } from './options.js';
import { methodsOf, planOf } from './plan.js';
import { stateOf } from './settings.js';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;
type Wrapper = ReturnType<Module['controllers']['values']> extends Iterable<infer W> ? W : never;
type Constructor = new (...args: unknown[]) => object;

/**
 * Gives the settings to every instance of the application: providers, controllers, guards, pipes, interceptors,
 * filters and middleware, decorated or not, because a decorated private method shows nowhere.
 * @throws TypeError when a decorated method would have no time limit or no concurrency.
 */
export function bindInstances(modules: ModulesContainer, settings: AsyncUtilsConfig): void {
  for (const module of modules.values())
    for (const wrappers of [module.providers, module.controllers, module.injectables, module.middlewares])
      for (const wrapper of wrappers.values()) bindWrapper(wrapper as Wrapper, settings);
}

function bindWrapper(wrapper: Wrapper, settings: AsyncUtilsConfig): void {
  const bind = (instance: unknown) => {
    if (typeof instance !== 'object' || !instance) return;
    checkPlans(Object.getPrototypeOf(instance), settings);
    stateOf(instance).settings = settings;
  };
  bind(wrapper.instance);
  for (const host of wrapper.getStaticTransientInstances()) bind(host?.instance);
  const madeLater = wrapper.isTransient || !wrapper.isDependencyTreeStatic();
  if (madeLater && !wrapper.isNotMetatype && checkPlans(wrapper.metatype?.prototype, settings))
    wrapper.metatype = announcing(wrapper.metatype as Constructor, bind);
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
 * Request-scoped and transient instances are made by Nest whenever it needs one, and nothing tells a module of it. So
 * this application's wrapper of the class gets a constructor that announces what it made. The class itself, which
 * other applications may use, stays untouched; Nest finds its metadata through the prototype.
 */
function announcing(metatype: Constructor, announce: (instance: object) => void): Constructor {
  function Announced(...args: unknown[]): object {
    const instance = Reflect.construct(metatype, args);
    announce(instance);
    return instance;
  }
  Object.setPrototypeOf(Announced, metatype);
  return Object.defineProperties(Announced, {
    name: { value: metatype.name },
    prototype: { value: metatype.prototype },
  }) as unknown as Constructor;
}
