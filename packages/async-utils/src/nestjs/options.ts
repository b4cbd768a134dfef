import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import { type BackoffStrategy, backoffFunction } from '../backoff.js';
import {
  checkBoolean,
  checkCount,
  checkFunction,
  checkMs,
  checkOptions,
  checkShare,
  checkSignal,
} from '../checks.js';
import type { AsyncHooks } from '../hooks.js';
import { type LimitOptions, pLimit, type TaskOptions } from '../limit.js';
import type { RetryOptions } from '../retry.js';
import type { TimeoutOptions } from '../timeout.js';

/** Options of `@Timeout` and `TimeoutInterceptor`: those of `timeout`. Without `ms` the module's holds. */
export interface MethodTimeoutOptions extends Omit<TimeoutOptions<unknown>, 'ms'> {
  /** Time limit of one attempt. 0 gives up at once, Infinity never does. */
  ms?: number | undefined;
}

/** Options of `@ConcurrencyLimit`. Without `concurrency` the class's limit holds, or else the module's number. */
export interface MethodLimitOptions
  extends Omit<LimitOptions & TaskOptions, 'concurrency' | 'rejectOnClear'> {
  /** Maximum number of calls that run at once, on one instance or on all instances of a scoped provider: 1 to Infinity. */
  concurrency?: number | undefined;
  /**
   * True makes the next attempt, and the slot, wait until a timed-out or aborted attempt has ended (false). For methods
   * that do not obey `attemptSignal()`. One that never ends keeps its slot.
   */
  holdSlot?: boolean | undefined;
}

/** The place that an event of the module's hooks comes from. */
export interface CallSite {
  /** Class of the instance that was called. */
  readonly className: string;
  /** Method that was called. */
  readonly methodName: string;
}

/** The hooks of the core with the call site added to every event. */
export type MethodHooks = {
  [K in keyof AsyncHooks]?:
    | ((event: Parameters<NonNullable<AsyncHooks[K]>>[0] & CallSite) => void)
    | undefined;
};

/**
 * Settings of one application. The options of a decorator or an interceptor win over them, and they win over the defaults
 * of the library. `onSuccess` and `onError` are called once per call, whatever layers the call went through.
 */
export interface AsyncUtilsConfig extends MethodHooks {
  /** For `@Retryable` and `RetryInterceptor`. */
  retry?: RetryOptions | undefined;
  /** For `@Timeout` and `TimeoutInterceptor`. */
  timeout?: MethodTimeoutOptions | undefined;
  /** For `@ConcurrencyLimit`. */
  limit?: MethodLimitOptions | undefined;
}

/** A provider that makes the settings, for `forRootAsync({ useClass | useExisting })`. */
export interface AsyncUtilsConfigFactory {
  /** Makes the settings. Called once, while the application starts. */
  createAsyncUtilsConfig(): AsyncUtilsConfig | Promise<AsyncUtilsConfig>;
}

/** The source of the settings of `forRootAsync`: exactly one of `useFactory`, `useClass` and `useExisting`. */
export type AsyncUtilsAsyncOptions = ConfigurableModuleAsyncOptions<
  AsyncUtilsConfig,
  keyof AsyncUtilsConfigFactory
>;

/** Injection token of the application's checked AsyncUtilsConfig. */
export const ASYNC_UTILS_CONFIG = Symbol('ASYNC_UTILS_CONFIG');

/**
 * Merges options; later ones win. A key with the value `undefined` counts as missing, except `fallback`: there it is the
 * result that the caller asked for.
 */
export function merge<T extends object>(...parts: (T | undefined)[]): T {
  const merged: Record<string, unknown> = {};
  for (const part of parts)
    for (const [key, value] of Object.entries(part ?? {}))
      if (value !== undefined || key === 'fallback') merged[key] = value;
  return merged as T;
}

type Check = (name: string, value: unknown) => void;
type Checks<T> = { [K in keyof Required<T>]: Check };

const anything: Check = () => {};

const END_HOOKS = { onSuccess: checkFunction, onError: checkFunction };

const RETRY: Checks<RetryOptions> = {
  retries: checkCount,
  backoff: (_, value) => backoffFunction(value as BackoffStrategy),
  jitter: checkShare,
  shouldRetry: checkFunction,
  signal: checkSignal,
  onRetry: checkFunction,
  ...END_HOOKS,
};

const TIMEOUT: Checks<MethodTimeoutOptions> = {
  ms: checkMs,
  fallback: anything,
  error: (name, value) => {
    if (!(value instanceof Error)) checkFunction(name, value);
  },
  cleanup: checkFunction,
  signal: checkSignal,
  onTimeout: checkFunction,
  ...END_HOOKS,
};

const LIMIT: Checks<MethodLimitOptions> = {
  concurrency: (_, value) => pLimit(value as number),
  priority: (_, value) => pLimit({ concurrency: 1, priority: value as number }),
  signal: checkSignal,
  holdSlot: checkBoolean,
  ...END_HOOKS,
};

const CONFIG: Checks<AsyncUtilsConfig> = {
  retry: checkerOf(RETRY),
  timeout: checkerOf(TIMEOUT),
  limit: checkerOf(LIMIT),
  onRetry: checkFunction,
  onTimeout: checkFunction,
  ...END_HOOKS,
};

/**
 * Makes a function that checks and copies options. It refuses what is no object, an unknown key, and an invalid value;
 * the message starts with `where`. A number stands for the option `short`.
 */
function checkerOf<T extends object>(
  checks: Checks<T>,
  short?: keyof T,
): (where: string, given: unknown) => T {
  return (where, given) => {
    const options = (short && typeof given === 'number' ? { [short]: given } : given) as T;
    checkOptions(options, `${where}: options`);
    for (const [key, value] of Object.entries(options)) {
      const check = Object.hasOwn(checks, key) && (checks as Record<string, Check>)[key];
      if (!check)
        throw new TypeError(`${where}: unknown option '${key}', expected ${Object.keys(checks).join(', ')}`);
      try {
        if (value !== undefined) check(key, value);
      } catch (error) {
        // The core's checks name the option but not the place. A new error, because a stack repeats its first message.
        const { message, constructor: Kind } = error as Error;
        throw new (Kind as ErrorConstructor)(`${where}: ${message}`);
      }
    }
    return { ...options };
  };
}

export const checkRetry = checkerOf(RETRY);
export const checkTimeout = checkerOf(TIMEOUT, 'ms');
export const checkLimit = checkerOf(LIMIT, 'concurrency');
export const checkConfig = checkerOf(CONFIG);
