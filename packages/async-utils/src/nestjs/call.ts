import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { abortable, onAbort } from '../abort.js';
import { type AsyncHooks, observed, tell } from '../hooks.js';
import { type LimitFunction, pLimit, type TaskOptions } from '../limit.js';
import { type RetryOptions, retry } from '../retry.js';
import { timeout } from '../timeout.js';
import {
  type AsyncUtilsConfig,
  type CallSite,
  type MethodLimitOptions,
  type MethodTimeoutOptions,
  merge,
} from './options.js';

/** A method of any class. */
export type Method = (this: unknown, ...args: unknown[]) => unknown;

/** The options that the decorators of one method set. The order of the decorators does not matter. */
export interface Plan {
  readonly method: Method;
  readonly name: string;
  retry?: RetryOptions;
  timeout?: MethodTimeoutOptions;
  limit?: MethodLimitOptions;
  /** True if a class has a limit in which the method takes part. */
  shared?: boolean;
}

/** The settings of an instance's application, and the limits of its methods. */
interface InstanceState {
  settings: AsyncUtilsConfig;
  /** By the plan of a method, or by the options of the limit of a class. */
  limits: Map<object, LimitFunction>;
}

// By instance, not by class: two applications in one process have the same classes and different settings.
const states = new WeakMap<object, InstanceState>();

/** The state of an instance. Without an application it has no settings, so the defaults of the library hold. */
export function stateOf(instance: object): InstanceState {
  const state = states.get(instance) ?? { settings: {}, limits: new Map() };
  states.set(instance, state);
  return state;
}

/** The options of the limits of classes, by prototype: a class decorator may replace the constructor. */
export const classLimits = new WeakMap<object, MethodLimitOptions>();

/** The limit of the nearest class of an instance, or of a prototype, that has one. */
function classLimitOf(self: unknown): MethodLimitOptions | undefined {
  let at = typeof self === 'object' ? self : null;
  while (at && !classLimits.has(at)) at = Object.getPrototypeOf(at);
  return at ? classLimits.get(at) : undefined;
}

/** The attempt of a decorated method that runs. */
const attempts = new AsyncLocalStorage<{ signal: AbortSignal | undefined }>();

/**
 * Returns the signal of the current attempt of the decorated method that runs. It aborts when the attempt times out or
 * the call is aborted. An attempt with no time limit and no signal has the signal of the attempt around it.
 * @returns undefined outside of a decorated method.
 */
export function attemptSignal(): AbortSignal | undefined {
  const attempt = attempts.getStore();
  if (attempt) attempt.signal ??= new AbortController().signal;
  return attempt?.signal;
}

/** Runs a decorated method: the limit outside, then the retries, then the time limit of each attempt. */
export async function call(plan: Plan, self: unknown, args: unknown[]): Promise<unknown> {
  const isObject = (typeof self === 'object' && self) || typeof self === 'function';
  // A method that is called without an object still has one limit: its own.
  const { settings, limits } = stateOf(isObject ? (self as object) : plan);
  const layers = layersOf(plan, settings, self);
  const hooks = hooksAt(settings, siteOf(plan, self));
  // The signal of an outer layer ends the inner layers too. They would go on after the caller has its error.
  const ofRetry = eitherOf(layers.retry?.signal, layers.limit?.signal);
  const ofTimeout = eitherOf(layers.timeout?.signal, ofRetry.signal);
  let count = 0;
  const soFar = () => count;
  // The attempt that still runs, also after its caller has stopped waiting for it.
  let running: Promise<unknown> | undefined;

  const run = (signal: AbortSignal | undefined) => {
    const scope = { signal: signal ?? attempts.getStore()?.signal };
    const work = attempts.run(scope, async () => plan.method.apply(self, args));
    const end = () => {
      if (running === work) running = undefined;
    };
    running = work;
    work.then(end, end);
    return work;
  };
  const abandonedEnd = async () => {
    if (!layers.limit || !running) return;
    if (layers.limit.holdSlot) await Promise.allSettled([running]);
    // The rejection of an aborted stream or request takes up to one turn of the event loop to reach the method.
    else await setImmediate();
  };
  const attempt = async () => {
    if (running) await (ofTimeout.signal ? abortable(abandonedEnd, ofTimeout.signal) : abandonedEnd());
    count++;
    const { timeout: options } = layers;
    if (!options) return run(ofRetry.signal);
    const onTimeout = both(options.onTimeout, hooks.onTimeout);
    return timeout(run, { ...options, signal: ofTimeout.signal, onTimeout });
  };
  const retried = () => {
    const { retry: options } = layers;
    if (!options) return attempt();
    const onRetry = both(options.onRetry, hooks.onRetry);
    return retry(attempt, { ...options, signal: ofRetry.signal, onRetry });
  };
  const limited = () => {
    const { limit: options } = layers;
    if (!options) return retried();
    const limit = limits.get(options.key) ?? pLimit(options.concurrency);
    limits.set(options.key, limit);
    return new Promise((resolve, reject) => {
      const work = async () => {
        const result = observed(options, soFar, retried);
        await Promise.allSettled([result]);
        if (running) {
          // The slot waits for the end of an abandoned attempt. The caller does not.
          resolve(result);
          await abandonedEnd();
        }
        return result;
      };
      inSlot(limit, work, options).then(resolve, reject);
    });
  };
  try {
    return await observed(hooks, soFar, limited);
  } finally {
    ofTimeout.release();
    ofRetry.release();
  }
}

/**
 * The options of each layer, outermost first, merged with the settings of the application. A layer that no decorator sets
 * is undefined. `self` is the instance or its prototype.
 * @throws TypeError if a time limit or a concurrency is missing.
 */
export function layersOf(plan: Plan, settings: AsyncUtilsConfig, self: unknown) {
  const shared = plan.shared ? classLimitOf(self) : undefined;
  const limit = (plan.limit || shared) && merge(settings.limit, shared, plan.limit);
  const time = plan.timeout && merge(settings.timeout, plan.timeout);
  const missing = (name: string, part: 'limit' | 'timeout', key: string) =>
    refuseMissing(name, siteOf(plan, self), part, key);
  return {
    limit: limit && {
      ...limit,
      concurrency: limit.concurrency ?? missing('@ConcurrencyLimit', 'limit', 'concurrency'),
      // A method without a concurrency of its own takes part in the limit of its class.
      key: shared && plan.limit?.concurrency === undefined ? shared : plan,
    },
    retry: plan.retry && merge(settings.retry, plan.retry),
    timeout: time && { ...time, ms: time.ms ?? missing('@Timeout', 'timeout', 'ms') },
  };
}

function siteOf(plan: Plan, self: unknown): CallSite {
  const owner = typeof self === 'function' ? self : (self as object | undefined)?.constructor;
  return { className: owner?.name ?? '', methodName: plan.name };
}

/** Throws an error that says what is missing, where, and the two ways to set it. */
export function refuseMissing(
  name: string,
  { className, methodName }: CallSite,
  part: 'timeout' | 'limit',
  key: string,
  write = name,
): never {
  throw new TypeError(
    `${name} on ${className}.${methodName} has no ${key}: write ${write}(${key}), or import ` +
      `AsyncUtilsModule.forRoot({ ${part}: { ${key} } }), which reaches what Nest makes once the application starts`,
  );
}

/** The hooks of the module in the shape of the core's. They add the call site to every event. */
export function hooksAt(settings: AsyncUtilsConfig, site: CallSite): AsyncHooks {
  const at = <E>(hook: ((event: E & CallSite) => void) | undefined) =>
    hook && ((event: E) => hook({ ...event, ...site }));
  return {
    onRetry: at(settings.onRetry),
    onTimeout: at(settings.onTimeout),
    onSuccess: at(settings.onSuccess),
    onError: at(settings.onError),
  };
}

/** One hook that calls two, the second also if the first throws. */
export const both =
  <E>(first: ((event: E) => void) | undefined, second: ((event: E) => void) | undefined) =>
  (event: E): void => {
    tell(first, event);
    tell(second, event);
  };

/**
 * Makes a signal that aborts with the first of two. AbortSignal.any would be shorter, but on Node 20 its signals live as
 * long as their sources, and this makes one per call.
 */
export function eitherOf(one: AbortSignal | undefined, other: AbortSignal | undefined) {
  if (!one || !other || one === other) return { signal: one ?? other, release: () => {} };
  const controller = new AbortController();
  const offs = [one, other].map((signal) => {
    const follow = () => controller.abort(signal.reason);
    if (!signal.aborted) return onAbort(signal, follow);
    follow();
    return undefined;
  });
  const release = () => {
    for (const off of offs) off?.();
  };
  return { signal: controller.signal, release };
}

/** One slot that a running call holds. */
interface Slot {
  readonly limit: LimitFunction;
  readonly outer: Slot | undefined;
  /** The queue of the calls that the holder makes. */
  inner?: LimitFunction;
  open: boolean;
}

const slots = new AsyncLocalStorage<Slot>();

/**
 * Runs `work` in a slot of `limit`. A call from inside a call that holds a slot of the same limit takes no second slot:
 * under load every slot would be held by a call that waits for another. It runs in the slot of its caller. Several such
 * calls take turns in it, so the limit still holds.
 */
function inSlot<T>(limit: LimitFunction, work: () => Promise<T>, options: TaskOptions): Promise<T> {
  const outer = nearest(slots.getStore(), () => true);
  const held = nearest(outer, (slot) => slot.limit === limit);
  if (held) held.inner ??= pLimit(1);
  return (held?.inner ?? limit).run(() => {
    const slot: Slot = { limit, outer, open: true };
    return slots.run(slot, async () => {
      try {
        return await work();
      } finally {
        slot.open = false;
      }
    });
  }, options);
}

/** Skips the slots of calls that have ended: work that they left behind holds nothing, and keeps none of them alive. */
function nearest(slot: Slot | undefined, matches: (slot: Slot) => boolean): Slot | undefined {
  let found = slot;
  while (found && !(found.open && matches(found))) found = found.outer;
  return found;
}
