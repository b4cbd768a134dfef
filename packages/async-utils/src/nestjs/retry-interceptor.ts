import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { isRetryError } from '../errors.js';
import { type RetryOptions, retry } from '../retry.js';
import { both } from './events.js';
import { ASYNC_UTILS_CONFIG, type AsyncUtilsConfig, merge } from './options.js';
import { requestHooks, respond } from './stream.js';
import { checkRetry } from './validation.js';

/**
 * Runs a request handler again when it fails, as `retry` does.
 *
 * When all tries failed the client gets the handler's last error with its own status, not a RetryError. Unless
 * `shouldRetry` says otherwise, a client error (an exception with a 4xx status) is not tried again; 408, 425 and 429
 * are, as they ask for it. A stream is tried again until its first value is out; a later failure is passed on. For
 * handlers that may run more than once only.
 */
export class RetryInterceptor implements NestInterceptor {
  /** The application's settings, when Nest makes the interceptor. */
  readonly config: AsyncUtilsConfig | undefined;
  readonly #options: RetryOptions;

  /**
   * @param options - see RetryOptions; what is absent comes from AsyncUtilsModule if Nest makes the interceptor
   * (`@UseInterceptors(RetryInterceptor)`, APP_INTERCEPTOR, a subclass), then from the library.
   * @throws TypeError or RangeError for bad options.
   */
  constructor(options: RetryOptions = {}) {
    this.#options = checkRetry('RetryInterceptor', options);
  }

  /**
   * @returns the response of the first try that succeeds, or the last error; AbortError (`ABORTED`) when the signal
   * aborts.
   */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { config = {} } = this;
    const options = merge(config.retry, this.#options);
    const { shouldRetry = isWorthRetrying } = options;
    const hooks = requestHooks(config, context);
    return respond(next, options.signal, hooks, async ({ signal, subscriber, forward }) => {
      let streaming = false;
      let refused = false;
      const pass = (value: unknown) => {
        streaming = true;
        subscriber.next(value);
      };
      try {
        await retry(() => forward(pass), {
          ...options,
          signal,
          shouldRetry: async (error, attempt) => {
            refused = streaming || !(await shouldRetry(error, attempt));
            return !refused;
          },
          onRetry: both(options.onRetry, hooks.onRetry),
        });
      } catch (error) {
        // A RetryError that was refused is the handler's own.
        throw isRetryError(error) && !refused ? error.cause : error;
      }
    });
  }
}

Injectable()(RetryInterceptor);
Optional()(RetryInterceptor.prototype, 'config');
Inject(ASYNC_UTILS_CONFIG)(RetryInterceptor.prototype, 'config');

const RETRYABLE_4XX = [408, 425, 429];

/** By its shape, not its class: the handler's HttpException may come from another copy of Nest. */
function isWorthRetrying(error: unknown): boolean {
  const status = (error as { getStatus?: () => unknown } | null | undefined)?.getStatus?.();
  return !(typeof status === 'number' && status >= 400 && status < 500) || RETRYABLE_4XX.includes(status);
}
