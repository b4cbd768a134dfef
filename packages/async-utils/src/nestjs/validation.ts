import { type BackoffStrategy, backoffFunction } from '../backoff.js';
import { checkCount, checkFunction, checkMs, checkShare } from '../checks.js';
import { describe } from '../errors.js';
import { pLimit } from '../limit.js';
import type { RetryOptions } from '../retry.js';
import type { AsyncUtilsConfig, MethodLimitOptions, MethodTimeoutOptions } from './options.js';

type Check = (name: string, value: unknown) => void;
type Checks<T> = { [K in keyof Required<T>]: Check };

const anything: Check = () => {};

const signal: Check = (name, value) => {
  if (typeof (value as AbortSignal | null)?.addEventListener !== 'function')
    throw new TypeError(`${name} must be an AbortSignal, got ${describe(value)}`);
};

const RETRY: Checks<RetryOptions> = {
  retries: checkCount,
  backoff: (_, value) => backoffFunction(value as BackoffStrategy),
  jitter: checkShare,
  shouldRetry: checkFunction,
  signal,
  onRetry: checkFunction,
  onSuccess: checkFunction,
  onError: checkFunction,
};

const TIMEOUT: Checks<MethodTimeoutOptions> = {
  ms: checkMs,
  fallback: anything,
  error: (name, value) => {
    if (!(value instanceof Error)) checkFunction(name, value);
  },
  cleanup: checkFunction,
  signal,
  onTimeout: checkFunction,
  onSuccess: checkFunction,
  onError: checkFunction,
};

const LIMIT: Checks<MethodLimitOptions> = {
  concurrency: (_, value) => pLimit(value as number),
  priority: (_, value) => pLimit({ concurrency: 1, priority: value as number }),
  signal,
  holdSlot: (name, value) => {
    if (typeof value !== 'boolean') throw new TypeError(`${name} must be a boolean, got ${describe(value)}`);
  },
  onSuccess: checkFunction,
  onError: checkFunction,
};

const CONFIG: Checks<AsyncUtilsConfig> = {
  retry: (name, value) => checkAll(name, value, RETRY),
  timeout: (name, value) => checkAll(name, value, TIMEOUT),
  limit: (name, value) => checkAll(name, value, LIMIT),
  onRetry: checkFunction,
  onTimeout: checkFunction,
  onSuccess: checkFunction,
  onError: checkFunction,
};

/** Refuses what is no object, an unknown key, and a bad value; the message starts with `where`. */
function checkAll<T extends object>(where: string, options: unknown, checks: Checks<T>): T {
  if (typeof options !== 'object' || !options)
    throw new TypeError(`${where}: options must be an object, got ${describe(options)}`);
  for (const [key, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, key) && (checks as Record<string, Check>)[key];
    if (!check)
      throw new TypeError(`${where}: unknown option '${key}', expected ${Object.keys(checks).join(', ')}`);
    try {
      if (value !== undefined) check(key, value);
    } catch (error) {
      // The core's checks name the option but not the place; a new error, since a stack repeats its first message.
      const { message, constructor: Kind } = error as Error;
      throw new (Kind as ErrorConstructor)(`${where}: ${message}`);
    }
  }
  return { ...options } as T;
}

/** A checked copy of retry options. */
export const checkRetry = (where: string, options: unknown): RetryOptions => checkAll(where, options, RETRY);

/** A checked copy of timeout options; a number stands for `ms`. */
export const checkTimeout = (where: string, limit: unknown): MethodTimeoutOptions =>
  checkAll(where, typeof limit === 'number' ? { ms: limit } : limit, TIMEOUT);

/** A checked copy of limit options; a number stands for `concurrency`. */
export const checkLimit = (where: string, limit: unknown): MethodLimitOptions =>
  checkAll(where, typeof limit === 'number' ? { concurrency: limit } : limit, LIMIT);

/** A checked copy of the module's settings. */
export const checkConfig = (config: unknown): AsyncUtilsConfig =>
  checkAll('AsyncUtilsModule', config, CONFIG);
