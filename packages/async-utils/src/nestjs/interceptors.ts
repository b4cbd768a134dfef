import {
  type CallHandler,
  type ExecutionContext,
  Inject,
  Injectable,
  type NestInterceptor,
  Optional,
  RequestTimeoutException,
} from '@nestjs/common';
import { Observable, type Subscriber } from 'rxjs';
import { onAbort } from '../abort.js';
import { isRetryError, TimeoutError } from '../errors.js';
import { type AsyncHooks, observed } from '../hooks.js';
import { type RetryOptions, retry } from '../retry.js';
import { timeout } from '../timeout.js';
import { both, eitherOf, hooksAt, refuseMissing } from './call.js';
import { planOf } from './decorators.js';
import {
  ASYNC_UTILS_CONFIG,
  type AsyncUtilsConfig,
  type CallSite,
  checkRetry,
  checkTimeout,
  type MethodTimeoutOptions,
  merge,
} from './options.js';

/**
 * Runs a request handler again when it fails, as `retry` does. For handlers that may run more than once only.
 *
 * When all attempts failed, the client gets the handler's last error with its own status, not a RetryError. Unless
 * `shouldRetry` says otherwise, a client error (an exception with a 4xx status) is not retried, except 408, 425 and 429.
 * A stream is retried until its first value is sent; a later failure is passed on.
 */
export class RetryInterceptor implements NestInterceptor {
  /** The application's settings, if Nest makes the interceptor. */
  readonly config: AsyncUtilsConfig | undefined;
  readonly #options: RetryOptions;

  /**
   * @param options - missing ones come from AsyncUtilsModule if Nest makes the interceptor
   * (`@UseInterceptors(RetryInterceptor)`, APP_INTERCEPTOR, a subclass), then from the library.
   * @throws TypeError or RangeError for invalid options.
   */
  constructor(options: RetryOptions = {}) {
    this.#options = checkRetry('RetryInterceptor', options);
  }

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

const RETRYABLE_4XX = [408, 425, 429];

/** Checks the shape, not the class: the handler's HttpException may come from another copy of Nest. */
function isWorthRetrying(error: unknown): boolean {
  const status = (error as { getStatus?: () => unknown } | null | undefined)?.getStatus?.();
  return !(typeof status === 'number' && status >= 400 && status < 500) || RETRYABLE_4XX.includes(status);
}

/**
 * Answers 408 (RequestTimeoutException, its `cause` a TimeoutError) when a request handler takes too long, or what
 * `error` or `fallback` say instead. Unsubscribes from the handler's stream; a promise that it waits for goes on, and its
 * result is ignored. A stream must send its first value, or end, in time; after that there is no limit.
 */
export class TimeoutInterceptor implements NestInterceptor {
  /** The application's settings, if Nest makes the interceptor. */
  readonly config: AsyncUtilsConfig | undefined;
  readonly #options: MethodTimeoutOptions;

  /**
   * @param limit - milliseconds, or options; missing ones come from AsyncUtilsModule if Nest makes the interceptor
   * (`@UseInterceptors(TimeoutInterceptor)`, APP_INTERCEPTOR, a subclass).
   * @throws TypeError or RangeError for invalid options.
   */
  constructor(limit: number | MethodTimeoutOptions = {}) {
    this.#options = checkTimeout('TimeoutInterceptor', limit);
  }

  /** @throws TypeError if neither the interceptor nor the module sets a time limit. */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { config = {} } = this;
    const options = merge(config.timeout, this.#options);
    const ms =
      options.ms ??
      refuseMissing('TimeoutInterceptor', handlerSite(context), 'timeout', 'ms', 'new TimeoutInterceptor');
    const hooks = requestHooks(config, context);
    // NestJS 10 forgets its default description when there are options.
    const error = () =>
      new RequestTimeoutException(undefined, { cause: new TimeoutError(ms), description: 'Request Timeout' });
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
      const onTimeout = both((event: { ms: number }) => {
        late = true;
        options.onTimeout?.(event);
      }, hooks.onTimeout);
      const fallback = await timeout(begun, { error, ...options, ms, signal, onTimeout });
      if (late) subscriber.next(fallback);
      else await whole;
    });
  }
}

// Called by hand: this source compiles under either decorator system.
for (const interceptor of [RetryInterceptor, TimeoutInterceptor]) {
  Injectable()(interceptor);
  Optional()(interceptor.prototype, 'config');
  Inject(ASYNC_UTILS_CONFIG)(interceptor.prototype, 'config');
}

const handlerSite = (context: ExecutionContext): CallSite => ({
  className: context.getClass().name,
  methodName: context.getHandler().name,
});

// Requests whose end an interceptor farther out reports.
const reported = new WeakSet<ExecutionContext>();

/** The module's hooks for one request. Its end is reported once: not by each interceptor, nor beside a decorated handler. */
function requestHooks(config: AsyncUtilsConfig, context: ExecutionContext): AsyncHooks {
  const hooks = hooksAt(config, handlerSite(context));
  if (!reported.has(context) && !planOf(context.getHandler())) {
    reported.add(context);
    return hooks;
  }
  const { onRetry, onTimeout } = hooks;
  return { onRetry, onTimeout };
}

/** One run of an interceptor. */
interface Run {
  /** Aborts when the caller's signal does, or when the response is unsubscribed. */
  readonly signal: AbortSignal;
  readonly subscriber: Subscriber<unknown>;
  /** Runs the handler once and passes its values to `sink`. Settles when its stream ends. */
  forward(sink: (value: unknown) => void): Promise<void>;
}

/** Makes a response that `work` writes. Unsubscribing stops the work and the handler's stream. */
function respond(
  next: CallHandler,
  outer: AbortSignal | undefined,
  hooks: AsyncHooks,
  work: (run: Run) => Promise<void>,
): Observable<unknown> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const { signal = controller.signal, release } = eitherOf(controller.signal, outer);
    let attempts = 0;
    const forward = (sink: (value: unknown) => void) => {
      attempts++;
      return new Promise<void>((resolve, reject) => {
        const inner = next.handle().subscribe({ next: sink, error: reject, complete: resolve });
        inner.add(onAbort(signal, () => inner.unsubscribe()));
      });
    };
    const soFar = () => attempts;
    observed(hooks, soFar, () => work({ signal, subscriber, forward })).then(
      () => subscriber.complete(),
      (error: unknown) => subscriber.error(error),
    );
    return () => {
      controller.abort();
      release();
    };
  });
}
