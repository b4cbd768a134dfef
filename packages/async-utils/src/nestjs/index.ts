/**
 * Retry, timeout and concurrency limit for NestJS: decorators that change neither a method nor its callers, a module
 * that holds one application's settings, and interceptors for controllers.
 *
 * @packageDocumentation
 */
export { attemptSignal } from './call.js';
export {
  type AsyncClassOrMethodDecorator,
  type AsyncMethodDecorator,
  ConcurrencyLimit,
  Retryable,
  Timeout,
} from './decorators.js';
export { RetryInterceptor, TimeoutInterceptor } from './interceptors.js';
export { AsyncUtilsModule } from './module.js';
export {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsAsyncOptions,
  type AsyncUtilsConfig,
  type AsyncUtilsConfigFactory,
  type CallSite,
  type MethodHooks,
  type MethodLimitOptions,
  type MethodTimeoutOptions,
} from './options.js';
