import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import { abortable } from '../abort.js';
import { observed } from '../hooks.js';
import { pLimit } from '../limit.js';
import { type RetryOptions, retry } from '../retry.js';
import { type TimeoutOptions, timeout } from '../timeout.js';
import { eitherOf } from './either-signal.js';
import { both, hooksAt, refuseMissing } from './events.js';
import { type AsyncUtilsConfig, type CallSite, type MethodLimitOptions, merge } from './options.js';
import { classLimitOf, type Plan } from './plan.js';
import { stateOf } from './settings.js';
import { inSlot } from './slot.js';

/** What one call goes through, outermost first; absent layers are undefined. */
interface Layers {
  readonly limit: (MethodLimitOptions & { concurrency: number; key: object }) | undefined;
  readonly retry: RetryOptions | undefined;
  readonly timeout: TimeoutOptions<unknown> | undefined;
}

/** One attempt of a decorated method. */
interface Attempt {
  signal: AbortSignal | undefined;
}

const attempts = new AsyncLocalStorage<Attempt>();

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

/** Runs a decorated method: the limit outside, then the retries, and the time limit around each try. */
export async function call(plan: Plan, self: unknown, args: unknown[]): Promise<unknown> {
  const isObject = (typeof self === 'object' && self) || typeof self === 'function';
  // A method called without an object still has one limit: its own.
  const { settings, limits } = stateOf(isObject ? (self as object) : plan);
  const layers = layersOf(plan, settings, self);
  const hooks = hooksAt(settings, siteOf(plan, self));
  // The signal of an outer layer ends the inner ones too, else they would go on for nobody.
  const ofTries = eitherOf(layers.retry?.signal, layers.limit?.signal);
  const ofTime = eitherOf(layers.timeout?.signal, ofTries.signal);
  let count = 0;
  const soFar = () => count;
  // The attempt that still runs, also when its caller no longer waits for it.
  let running: Promise<unknown> | undefined;

  const once = (signal: AbortSignal | undefined) => {
    const scope: Attempt = { signal: signal ?? attempts.getStore()?.signal };
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
    if (running) await (ofTime.signal ? abortable(abandonedEnd, ofTime.signal) : abandonedEnd());
    count++;
    const { timeout: options } = layers;
    if (!options) return once(ofTries.signal);
    const onTimeout = both(options.onTimeout, hooks.onTimeout);
    return timeout(once, { ...options, signal: ofTime.signal, onTimeout });
  };
  const tries = () => {
    const { retry: options } = layers;
    if (!options) return attempt();
    const onRetry = both(options.onRetry, hooks.onRetry);
    return retry(attempt, { ...options, signal: ofTries.signal, onRetry });
  };
  const limited = () => {
    const { limit: options } = layers;
    if (!options) return tries();
    let limit = limits.get(options.key);
    if (!limit) {
      limit = pLimit(options.concurrency);
      limits.set(options.key, limit);
    }
    const slots = limit;
    return new Promise((resolve, reject) => {
      const work = async () => {
        const result = observed(options, soFar, tries);
        await Promise.allSettled([result]);
        if (running) {
          // The slot waits for the end of an abandoned attempt. The caller does not.
          resolve(result);
          await abandonedEnd();
        }
        return result;
      };
      inSlot(slots, work, options).then(resolve, reject);
    });
  };
  try {
    return await observed(hooks, soFar, limited);
  } finally {
    ofTime.release();
    ofTries.release();
  }
}

/**
 * The options of every layer with the settings of the application applied; `self` is the instance or its prototype.
 * @throws TypeError when nobody says how long or how many.
 */
export function layersOf(plan: Plan, settings: AsyncUtilsConfig, self: unknown): Layers {
  const shared = plan.shared ? classLimitOf(self) : undefined;
  const limit = (plan.limit || shared) && merge(settings.limit, shared, plan.limit);
  const tries = plan.retry && merge(settings.retry, plan.retry);
  const time = plan.timeout && merge(settings.timeout, plan.timeout);
  const concurrency = limit?.concurrency ?? NaN;
  const ms = time?.ms ?? NaN;
  if (limit && Number.isNaN(concurrency))
    refuseMissing('@ConcurrencyLimit', siteOf(plan, self), 'limit', 'concurrency');
  if (time && Number.isNaN(ms)) refuseMissing('@Timeout', siteOf(plan, self), 'timeout', 'ms');
  return {
    // A method that names no number of its own takes part in the limit of its class.
    limit: limit && {
      ...limit,
      concurrency,
      key: shared && plan.limit?.concurrency === undefined ? shared : plan,
    },
    retry: tries,
    timeout: time && { ...time, ms },
  };
}

function siteOf(plan: Plan, self: unknown): CallSite {
  const owner = typeof self === 'function' ? self : (self as object | undefined)?.constructor;
  return { className: owner?.name ?? '', methodName: plan.name };
}
