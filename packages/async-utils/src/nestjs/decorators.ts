import { silence } from '../hooks.js';
import type { RetryOptions } from '../retry.js';
import { call } from './call.js';
import type { MethodLimitOptions, MethodTimeoutOptions } from './options.js';
import { addClassLimit, type Method, methodsOf, type Plan, planOf, standIn } from './plan.js';
import { checkLimit, checkRetry, checkTimeout } from './validation.js';

/** A decorator for methods that return promises, under standard and under legacy (`experimentalDecorators`) rules. */
export interface AsyncMethodDecorator {
  <T extends (...args: never[]) => PromiseLike<unknown>>(method: T, context: ClassMethodDecoratorContext): T;
  <T extends (...args: never[]) => PromiseLike<unknown>>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<T>,
  ): void;
}

/** The same, for classes too. */
export interface AsyncClassOrMethodDecorator extends AsyncMethodDecorator {
  // Not ClassDecoratorContext, nor a constructor type: those shut out classes whose constructor is not public.
  (target: { readonly prototype: object }, context?: { readonly kind: 'class' }): void;
}

/**
 * Makes a method try again when it fails, as `retry` does.
 * Together with `@Timeout` and `@ConcurrencyLimit`, in whatever order they stand, a call goes through the limit, then
 * the retries, then the time limit of each try. The method and its callers stay as they are; the method's `this`,
 * name, length and metadata are kept, and it always gives a promise.
 * @param options - see RetryOptions; what is absent comes from AsyncUtilsModule, then from the library.
 * @returns a method decorator; the method then rejects with RetryError (`RETRY_EXHAUSTED`) when all tries failed,
 * AbortError (`ABORTED`) when the signal aborts.
 * @throws TypeError or RangeError for bad options, on a class, or twice on one method.
 */
export function Retryable(options: RetryOptions = {}): AsyncMethodDecorator {
  const retry = checkRetry('@Retryable', options);
  return decorator('@Retryable', { retry });
}

/**
 * Gives each try of a method a time limit, as `timeout` does; see `@Retryable` for how the decorators work together.
 * @param limit - milliseconds, or options; what is absent comes from AsyncUtilsModule.
 * @returns a method decorator; the method then rejects with TimeoutError (`TIMEOUT`) when the time is up, AbortError
 * (`ABORTED`) when the signal aborts, TypeError when neither it nor the module names a time limit.
 * @throws TypeError or RangeError for bad options, on a class, or twice on one method.
 */
export function Timeout(limit: number | MethodTimeoutOptions = {}): AsyncMethodDecorator {
  const timeout = checkTimeout('@Timeout', limit);
  return decorator('@Timeout', { timeout });
}

/**
 * Limits how many calls run at once; the others wait in order. A singleton provider has one limit per instance. With
 * AsyncUtilsModule, REQUEST- and TRANSIENT-scoped providers have one per class and application.
 * On a class one limit is shared by its methods, inherited ones included. A method with a concurrency of its own has
 * its own limit instead; one with other options only (a priority) shares with those. Methods that return no promise,
 * Nest's lifecycle hooks and static methods take no part. An `async` method is recognised as such; any other by the
 * result of its first call, which therefore runs at once. A call from inside a call that holds a slot of the same
 * limit runs in that slot, one after the other, so a method may call its neighbours; those that are to run side by
 * side need a limit of their own.
 * @param limit - the concurrency, or options; what is absent comes from AsyncUtilsModule.
 * @returns a method and class decorator; a method then rejects with AbortError (`ABORTED`) when the signal aborts,
 * TypeError when neither it nor its class nor the module names a concurrency.
 * @throws TypeError or RangeError for bad options, or twice on one method or class.
 */
export function ConcurrencyLimit(limit: number | MethodLimitOptions = {}): AsyncClassOrMethodDecorator {
  const options = checkLimit('@ConcurrencyLimit', limit);
  return decorator('@ConcurrencyLimit', { limit: options }, (target) => {
    if (!addClassLimit(target.prototype, options)) twice('@ConcurrencyLimit', `class ${target.name}`);
    shareLimit(target.prototype);
  });
}

type Part = Pick<Plan, 'retry' | 'timeout' | 'limit'>;
type ClassTarget = { readonly name: string; readonly prototype: object };

/** One function for both decorator systems: they differ in what they call it with. */
function decorator(
  name: string,
  part: Part,
  onClass?: (target: ClassTarget) => void,
): AsyncClassOrMethodDecorator {
  const decorate = (
    target: unknown,
    at?: PropertyKey | DecoratorContext,
    descriptor?: PropertyDescriptor,
  ) => {
    const standard = typeof at === 'object' ? at : undefined;
    if (standard?.kind === 'method') return decorated(name, part, target as Method, standard.name);
    if (typeof descriptor?.value === 'function') {
      descriptor.value = decorated(name, part, descriptor.value, at as PropertyKey);
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

/** The stand-in for a method, with `part` in its plan; a second decorator finds the first one's and adds to it. */
function decorated(name: string, part: Part, method: Method, key: PropertyKey): Method {
  const plan = planOf(method);
  if (!plan) {
    const fresh: Plan = { method, name: String(key), ...part };
    return standIn(function (this: unknown, ...args) {
      return call(fresh, this, args);
    }, fresh);
  }
  for (const layer of Object.keys(part) as (keyof Part)[]) if (plan[layer]) twice(name, String(key));
  Object.assign(plan, part);
  return method;
}

// Never limited: a hook that waits for a slot would hold up the start, or the shutdown that is to free the slot.
const LIFECYCLE = new Set<PropertyKey>([
  'onModuleInit',
  'onApplicationBootstrap',
  'onModuleDestroy',
  'beforeApplicationShutdown',
  'onApplicationShutdown',
]);

/** Makes the methods that an instance of the class has take part in the class's limit. */
function shareLimit(prototype: object): void {
  for (const [key, method] of methodsOf(prototype)) {
    const plan = planOf(method);
    if (plan) plan.shared = true;
    else if (!LIFECYCLE.has(key))
      Object.defineProperty(prototype, key, {
        value: sharing(method, key),
        configurable: true,
        writable: true,
      });
  }
}

/** A stand-in that leaves a synchronous method synchronous: only a call that gives a promise can be made to wait. */
function sharing(method: Method, key: PropertyKey): Method {
  const plan: Plan = { method, name: String(key), shared: true };
  let isAsync = Object.prototype.toString.call(method) === '[object AsyncFunction]';
  return standIn(function (this: unknown, ...args) {
    if (isAsync) return call(plan, this, args);
    const result = method.apply(this, args);
    if (typeof (result as PromiseLike<unknown> | undefined)?.then !== 'function') return result;
    isAsync = true;
    silence(result);
    // This call runs already; it takes the slot it should have waited for.
    return call({ ...plan, method: () => result }, this, args);
  }, plan);
}

function twice(name: string, where: string): never {
  throw new TypeError(`${name} stands twice on ${where}, expected once`);
}
