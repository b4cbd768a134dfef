import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
  RequestTimeoutException,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { TimeoutError } from '../errors.js';
import { timeout } from '../timeout.js';
import { both, refuseMissing } from './events.js';
import { ASYNC_UTILS_CONFIG, type AsyncUtilsConfig, type MethodTimeoutOptions, merge } from './options.js';
import { requestHooks, respond, siteOf } from './stream.js';
import { checkTimeout } from './validation.js';

/**
 * Answers 408 (RequestTimeoutException, its `cause` a TimeoutError) when a request handler takes too long, or what
 * `error` or `fallback` say instead. The handler's stream is unsubscribed; a promise it waits for goes on unheard. A
 * stream must give its first value, or end, in time; after that it may take as long as it likes.
 */
export class TimeoutInterceptor implements NestInterceptor {
  /** The application's settings, when Nest makes the interceptor. */
  readonly config: AsyncUtilsConfig | undefined;
  readonly #options: MethodTimeoutOptions;

  /**
   * @param limit - milliseconds, or options; what is absent comes from AsyncUtilsModule if Nest makes the interceptor
   * (`@UseInterceptors(TimeoutInterceptor)`, APP_INTERCEPTOR, a subclass).
   * @throws TypeError or RangeError for bad options.
   */
  constructor(limit: number | MethodTimeoutOptions = {}) {
    this.#options = checkTimeout('TimeoutInterceptor', limit);
  }

  /**
   * @returns the handler's response in time, or the timeout's; AbortError (`ABORTED`) when the signal aborts.
   * @throws TypeError when neither the interceptor nor the module names a time limit.
   */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { config = {} } = this;
    const options = merge(config.timeout, this.#options);
    const ms =
      options.ms ??
      refuseMissing('TimeoutInterceptor', siteOf(context), 'timeout', 'ms', 'new TimeoutInterceptor');
    const hooks = requestHooks(config, context);
    // NestJS 10 forgets its default description when there are options.
    const tooLate = () =>
      new RequestTimeoutException(undefined, {
        cause: new TimeoutError(ms),
        description: 'Request Timeout',
      });
    return respond(next, options.signal, hooks, async ({ signal, subscriber, forward }) => {
      let late = false;
      let whole: Promise<void> | undefined;
      const begun = () =>
        new Promise<unknown>((resolve, reject) => {
          whole = forward((value) => {
            if (late) return;
            subscriber.next(value);
            resolve(undefined);
          });
          whole.then(resolve, reject);
        });
      const instead = await timeout(begun, {
        error: tooLate,
        ...options,
        ms,
        signal,
        onTimeout: both((event: { ms: number }) => {
          late = true;
          options.onTimeout?.(event);
        }, hooks.onTimeout),
      });
      if (late) subscriber.next(instead);
      else await whole;
    });
  }
}

Injectable()(TimeoutInterceptor);
Optional()(TimeoutInterceptor.prototype, 'config');
Inject(ASYNC_UTILS_CONFIG)(TimeoutInterceptor.prototype, 'config');
