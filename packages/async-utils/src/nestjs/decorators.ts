import { silence } from '../hooks.js';
import type { RetryOptions } from '../retry.js';
import { call, classLimits, type Method, type Plan } from './call.js';
import {
  checkLimit,
  checkRetry,
  checkTimeout,
  type MethodLimitOptions,
  type MethodTimeoutOptions,
} from './options.js';

/** A decorator for methods that return promises, under standard and under legacy (`experimentalDecorators`) rules. */
export interface AsyncMethodDecorator {
  <T extends (...args: never[]) => PromiseLike<unknown>>(method: T, context: ClassMethodDecoratorContext): T;
  <T extends (...args: never[]) => PromiseLike<unknown>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
}

/** A decorator for such methods and for classes. */
export interface AsyncClassOrMethodDecorator extends AsyncMethodDecorator {
  // ClassDecoratorContext and constructor types exclude classes whose constructor is not public.
  (target: { readonly prototype: object }, context?: { readonly kind: 'class' }): void;
}

/**
 * Makes a method retry when it fails, as `retry` does. Missing options come from AsyncUtilsModule, then from the library.
 * The method then rejects with RetryError (`RETRY_EXHAUSTED`) when all attempts failed, or AbortError (`ABORTED`) when
 * the signal aborts.
 *
 * The order of `@ConcurrencyLimit`, `@Retryable` and `@Timeout` does not matter: a call goes through the limit, then the
 * retries, then the time limit of each attempt. The method keeps its `this`, name, length and metadata, and always
 * returns a promise.
 * @throws TypeError or RangeError for invalid options, on a class, or twice on one method.
 */
export function Retryable(options: RetryOptions = {}): AsyncMethodDecorator {
  const retry = checkRetry('@Retryable', options);
  return decorator('@Retryable', { retry });
}

/**
 * Sets a time limit for each attempt of a method, as `timeout` does. `@Retryable` explains the order of decorators. The
 * method then rejects with TimeoutError (`TIMEOUT`) when the time is up, AbortError (`ABORTED`) when the signal aborts, or
 * TypeError if neither the decorator nor the module sets a time limit.
 * @param limit - milliseconds, or options; missing ones come from AsyncUtilsModule.
 * @throws TypeError or RangeError for invalid options, on a class, or twice on one method.
 */
export function Timeout(limit: number | MethodTimeoutOptions = {}): AsyncMethodDecorator {
  const timeout = checkTimeout('@Timeout', limit);
  return decorator('@Timeout', { timeout });
}

/**
 * Limits how many calls run at once; the others wait in order. A singleton provider has one limit per instance. With
 * AsyncUtilsModule, REQUEST- and TRANSIENT-scoped providers have one per class and application. A method then rejects
 * with AbortError (`ABORTED`) when the signal aborts, or TypeError if no concurrency is set anywhere.
 *
 * On a class, its methods share one limit, inherited methods included. A method with its own concurrency has its own
 * limit; one with other options only, such as a priority, shares the limit. Methods that return no promise, Nest's
 * lifecycle hooks and static methods take no part. A method that is not declared `async` is recognised by the result of
 * its first call, which therefore runs at once. A call from inside a call that holds a slot of the same limit runs in that
 * slot, one after the other: a method may call its neighbours, but calls that must run side by side need their own limit.
 * @param limit - the concurrency, or options; missing ones come from AsyncUtilsModule.
 * @throws TypeError or RangeError for invalid options, or twice on one method or class.
 */
export function ConcurrencyLimit(limit: number | MethodLimitOptions = {}): AsyncClassOrMethodDecorator {
  const options = checkLimit('@ConcurrencyLimit', limit);
  return decorator('@ConcurrencyLimit', { limit: options }, ({ name, prototype }) => {
    if (classLimits.has(prototype)) twice('@ConcurrencyLimit', `class ${name}`);
    classLimits.set(prototype, options);
    shareLimit(prototype);
  });
}

type Layer = Pick<Plan, 'retry' | 'timeout' | 'limit'>;
type ClassTarget = { readonly name: string; readonly prototype: object };

/** Makes one function for both decorator systems, which call it with different arguments. */
function decorator(
  name: string,
  layer: Layer,
  onClass?: (target: ClassTarget) => void,
): AsyncClassOrMethodDecorator {
  const decorate = (
    target: unknown,
    at?: PropertyKey | DecoratorContext,
    descriptor?: PropertyDescriptor,
  ) => {
    const standard = typeof at === 'object' ? at : undefined;
    if (standard?.kind === 'method') return decorated(name, layer, target as Method, standard.name);
    if (typeof descriptor?.value === 'function') {
      descriptor.value = decorated(name, layer, descriptor.value, at as PropertyKey);
      return undefined;
    }
    const isClass = standard ? standard.kind === 'class' : at === undefined && typeof target === 'function';
    if (!isClass || !onClass)
      throw new TypeError(
        `${name} must stand on a method${onClass ? ' or a class' : ''}, got ` +
          (isClass ? `class ${(target as ClassTarget).name}` : (standard?.kind ?? 'something else')),
      );
    onClass(target as ClassTarget);
    return undefined;
  };
  return decorate as AsyncClassOrMethodDecorator;
}

/** The stand-in for a method. A second decorator finds the stand-in of the first and adds its layer to the plan. */
function decorated(name: string, layer: Layer, method: Method, key: PropertyKey): Method {
  const plan = planOf(method);
  if (!plan) {
    const fresh: Plan = { method, name: String(key), ...layer };
    return standIn(function (this: unknown, ...args) {
      return call(fresh, this, args);
    }, fresh);
  }
  for (const part of Object.keys(layer) as (keyof Layer)[]) if (plan[part]) twice(name, String(key));
  Object.assign(plan, layer);
  return method;
}

function twice(name: string, where: string): never {
  throw new TypeError(`${name} stands twice on ${where}, expected once`);
}

// Not limited: a hook that waits for a slot would delay the start, or the shutdown that is to free the slot.
const LIFECYCLE = new Set<PropertyKey>([
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

/** Makes the methods of a class's instances take part in the limit of the class. */
function shareLimit(prototype: object): void {
  for (const [key, method] of methodsOf(prototype)) {
    const plan = planOf(method);
    if (plan) plan.shared = true;
    else if (!LIFECYCLE.has(key)) {
      const value = sharing(method, key);
      Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
    }
  }
}

/** A stand-in that leaves a synchronous method synchronous: only a call that returns a promise can be made to wait. */
function sharing(method: Method, key: PropertyKey): Method {
  const plan: Plan = { method, name: String(key), shared: true };
  let isAsync = Object.prototype.toString.call(method) === '[object AsyncFunction]';
  return standIn(function (this: unknown, ...args) {
    if (isAsync) return call(plan, this, args);
    const result = method.apply(this, args);
    if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') return result;
    isAsync = true;
    silence(result);
    // This call runs already. It takes the slot that it should have waited for.
    return call({ ...plan, method: () => result }, this, args);
  }, plan);
}

const plans = new WeakMap<object, Plan>();

/** The plan of a decorated method. */
export const planOf = (method: unknown): Plan | undefined =>
  typeof method === 'function' ? plans.get(method) : undefined;

/** Makes `wrapper` replace `plan.method`. */
function standIn(wrapper: Method, plan: Plan): Method {
  plans.set(wrapper, plan);
  return impersonate(wrapper, plan.method);
}

/** The part of reflect-metadata used here. Missing unless the program loads it. */
type Metadata = {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata(key: unknown, target: object): unknown;
  defineMetadata(key: unknown, value: unknown, target: object): void;
};

/** Gives a function the name, length, properties and metadata of another. */
export function impersonate<T extends object>(wrapper: T, original: T): T {
  Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(original));
  const metadata = Reflect as unknown as Metadata;
  for (const key of metadata.getOwnMetadataKeys?.(original) ?? [])
    metadata.defineMetadata(key, metadata.getOwnMetadata(key, original), wrapper);
  return wrapper;
}

/** Every method that instances of a prototype have, inherited ones included. */
export function* methodsOf(prototype: object | null): Generator<[key: PropertyKey, method: Method]> {
  const seen = new Set<PropertyKey>(['constructor']);
  for (let owner = prototype; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner))
    for (const key of Reflect.ownKeys(owner)) {
      // The descriptor, not the value: reading a getter here would run it.
      const value = Object.getOwnPropertyDescriptor(owner, key)?.value;
      if (!seen.has(key) && typeof value === 'function') yield [key, value];
      seen.add(key);
    }
}
