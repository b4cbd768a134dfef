import type { ConfigurableModuleAsyncOptions } from '@nestjs/common';
import type { AsyncHooks } from '../hooks.js';
import type { LimitOptions } from '../limit.js';
import type { RetryOptions } from '../retry.js';
import type { TimeoutOptions } from '../timeout.js';

/** Options of `@Timeout` and `TimeoutInterceptor`: those of `timeout`. Without `ms` the module's holds. */
export interface MethodTimeoutOptions extends Omit<TimeoutOptions<unknown>, 'ms'> {
  /** Time limit of one attempt. 0 gives up at once, Infinity never does. */
  ms?: number | undefined;
}

/** Options of `@ConcurrencyLimit`. Without `concurrency` the class's limit holds, or else the module's number. */
export interface MethodLimitOptions extends Pick<LimitOptions, 'priority' | 'onSuccess' | 'onError'> {
  /** Maximum number of calls that run at once, on one instance or on all instances of a scoped provider: 1 to Infinity. */
  concurrency?: number | undefined;
  /** Removes a waiting call from the queue; frees the caller of a running one. */
  signal?: AbortSignal | undefined;
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
