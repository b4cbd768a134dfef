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
  let attempts = 0;
  const soFar = () => attempts;

  const once = () => plan.method.apply(self, args);
  const attempt = async () => {
    attempts++;
    const { timeout: options } = layers;
    if (!options) return once();
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
    return inSlot(limit, () => observed(options, soFar, tries), options);
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
