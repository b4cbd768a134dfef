import type { FactoryProvider, ModuleMetadata, Type } from '@nestjs/common';
import type { AsyncHooks } from '../hooks.js';
import type { LimitOptions } from '../limit.js';
import type { RetryOptions } from '../retry.js';
import type { TimeoutOptions } from '../timeout.js';

/** Options of `@Timeout` and `TimeoutInterceptor`: those of `timeout`; without `ms` the module's holds. */
export interface MethodTimeoutOptions extends Omit<TimeoutOptions<unknown>, 'ms'> {
  /** The time limit of one try; 0 gives up at once, Infinity never does. */
  ms?: number | undefined;
}

/** Options of `@ConcurrencyLimit`; without `concurrency` the class's limit holds, or else the module's number. */
export interface MethodLimitOptions extends Pick<LimitOptions, 'priority' | 'onSuccess' | 'onError'> {
  /** How many calls may run at once, on one instance or on all instances of a scoped provider: from 1 to Infinity. */
  concurrency?: number | undefined;
  /** Takes a waiting call out of the queue; frees the caller of a running one. */
  signal?: AbortSignal | undefined;
  /**
   * True makes the next attempt, and the slot, wait until a timed-out or aborted attempt has ended (false). For methods
   * that do not obey `attemptSignal()`. One that never ends keeps its slot.
   */
  holdSlot?: boolean | undefined;
}

/** Where an event of the module's hooks comes from. */
export interface CallSite {
  /** The class of the instance that was called. */
  readonly className: string;
  /** The method that was called. */
  readonly methodName: string;
}

/** The hooks of the core with the call site added to every event. */
export type MethodHooks = {
  [K in keyof AsyncHooks]?:
    | ((event: Parameters<NonNullable<AsyncHooks[K]>>[0] & CallSite) => void)
    | undefined;
};

/**
 * Settings of one application. What a decorator or an interceptor says itself wins over them, and they win over the
 * defaults of the library. `onSuccess` and `onError` are told once per call, whatever layers the call went through.
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
  /** Gives the settings; called once, while the application starts. */
  createAsyncUtilsConfig(): AsyncUtilsConfig | Promise<AsyncUtilsConfig>;
}

/** Where `forRootAsync` gets the settings from: exactly one of `useFactory`, `useClass` and `useExisting`. */
export interface AsyncUtilsAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** What `useFactory` is called with. */
  inject?: FactoryProvider['inject'];
  /** Makes the settings. */
  useFactory?: ((...args: never[]) => AsyncUtilsConfig | Promise<AsyncUtilsConfig>) | undefined;
  /** A class that makes the settings; the module creates it. */
  useClass?: Type<AsyncUtilsConfigFactory> | undefined;
  /** The same, but the instance that the imported modules export is used. */
  useExisting?: Type<AsyncUtilsConfigFactory> | undefined;
}

/** Injection token of the application's checked AsyncUtilsConfig. */
export const ASYNC_UTILS_CONFIG = Symbol('ASYNC_UTILS_CONFIG');

/**
 * Merges options; later ones win. A key with the value `undefined` counts as absent, except `fallback`: there it is the
 * result that the caller asked for.
 */
export function merge<T extends object>(...parts: (T | undefined)[]): T {
  const merged: Record<string, unknown> = {};
  for (const part of parts)
    for (const [key, value] of Object.entries(part ?? {}))
      if (value !== undefined || key === 'fallback') merged[key] = value;
  return merged as T;
}
