import type { RetryOptions } from '../retry.js';
import type { MethodLimitOptions, MethodTimeoutOptions } from './options.js';

/** What the decorators of one method ask for. They all write here, so the order they stand in does not matter. */
export interface Plan {
  readonly method: Method;
  readonly name: string;
  retry?: RetryOptions;
  timeout?: MethodTimeoutOptions;
  limit?: MethodLimitOptions;
  /** Set by a limit on the class: the method shares it. */
  shared?: boolean;
}

/** A method of any class. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** The part of reflect-metadata used here; absent unless the program loads it. */
type Metadata = {
  getOwnMetadataKeys?(target: object): unknown[];
  getOwnMetadata(key: unknown, target: object): unknown;
  defineMetadata(key: unknown, value: unknown, target: object): void;
};

const plans = new WeakMap<object, Plan>();
// Keyed by prototype: a class decorator may put another constructor in the class's place.
const classLimits = new WeakMap<object, MethodLimitOptions>();

/** Gives a class its own limit; false when it has one. */
export function addClassLimit(prototype: object, options: MethodLimitOptions): boolean {
  if (classLimits.has(prototype)) return false;
  classLimits.set(prototype, options);
  return true;
}

/** The limit of the nearest class above an instance (or a prototype) that has one. */
export function classLimitOf(self: unknown): MethodLimitOptions | undefined {
  let at = typeof self === 'object' ? self : null;
  while (at && !classLimits.has(at)) at = Object.getPrototypeOf(at);
  return at ? classLimits.get(at) : undefined;
}

/** The plan behind a decorated method. */
export const planOf = (method: unknown): Plan | undefined =>
  typeof method === 'function' ? plans.get(method) : undefined;

/** Makes a function look like another: same name, length, properties and metadata. */
export function impersonate<T extends object>(wrapper: T, original: T): T {
  Object.defineProperties(wrapper, Object.getOwnPropertyDescriptors(original));
  const metadata = Reflect as unknown as Metadata;
  for (const key of metadata.getOwnMetadataKeys?.(original) ?? [])
    metadata.defineMetadata(key, metadata.getOwnMetadata(key, original), wrapper);
  return wrapper;
}

/** Makes `wrapper` take the place of `plan.method`. */
export function standIn(wrapper: Method, plan: Plan): Method {
  plans.set(wrapper, plan);
  return impersonate(wrapper, plan.method);
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
