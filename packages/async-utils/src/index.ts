/**
 * In-process control of async work: retry, concurrency limit, timeout, wait. Zero dependencies; every function takes
 * an AbortSignal and leaves no timer or listener behind.
 *
 * @packageDocumentation
 */
export { onAbort } from './abort.js';
export { type BackoffStrategy, exponentialBackoff, linearBackoff } from './backoff.js';
export {
  AbortError,
  isAbortError,
  isRetryError,
  isTimeoutError,
  RetryError,
  TimeoutError,
} from './errors.js';
export type { AsyncHooks } from './hooks.js';
export { type LimitFunction, type LimitOptions, limitFunction, pLimit, type TaskOptions } from './limit.js';
export { type RetryContext, type RetryOptions, retry } from './retry.js';
export { type TimeoutOptions, timeout } from './timeout.js';
export { type WaitOptions, type WaitUntilOptions, wait, waitFor, waitUntil } from './wait.js';
