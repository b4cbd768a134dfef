import { abortable, abortError, refuseAborted } from './abort.js';
import { type BackoffStrategy, backoffFunction, jittered } from './backoff.js';
import { checkCount, checkFunction, checkMs, checkOptions, checkShare } from './checks.js';
import { isAbortError, RetryError } from './errors.js';
import { type AsyncHooks, observed, tell } from './hooks.js';
import { wait } from './wait.js';

/** Options of `retry`. */
export interface RetryOptions extends Pick<AsyncHooks, 'onRetry' | 'onSuccess' | 'onError'> {
  /** Maximum retries after the first attempt (3). 0 means one attempt. */
  retries?: number | undefined;
  /** Delay between attempts (`'exponential'`). An error that carries `retryAfterMs` wins. */
  backoff?: BackoffStrategy | undefined;
  /** Share of each delay that is random, 0 to 1 (0). */
  jitter?: number | undefined;
  /** Returning false ends the call at once with the original error. */
  shouldRetry?: ((error: unknown, attempt: number) => boolean | PromiseLike<boolean>) | undefined;
  /** Ends the call at once with an AbortError. */
  signal?: AbortSignal | undefined;
}

/** The argument of each attempt: its number, from 1, and the caller's signal if there is one. */
export interface RetryContext {
  readonly attempt: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Calls `fn` until it succeeds, at most `retries + 1` times, with a growing delay between attempts.
 * @throws RetryError (`RETRY_EXHAUSTED`) when all attempts failed; AbortError (`ABORTED`) when the signal aborts; the
 * original error if `shouldRetry` returns false or the error is an AbortError; RangeError or TypeError for invalid options.
 */
export function retry<T>(
  fn: (context: RetryContext) => PromiseLike<T> | T,
  options: RetryOptions = {},
): Promise<T> {
  const progress = { attempt: 1 };
  const soFar = () => progress.attempt;
  return observed(options, soFar, () => attempts(fn, options, progress));
}

async function attempts<T>(
  fn: (context: RetryContext) => PromiseLike<T> | T,
  options: RetryOptions,
  progress: { attempt: number },
): Promise<T> {
  checkOptions(options);
  const { retries = 3, jitter = 0, signal, shouldRetry, onRetry } = options;
  checkFunction('fn', fn);
  checkCount('retries', retries);
  checkShare('jitter', jitter);
  if (shouldRetry) checkFunction('shouldRetry', shouldRetry);
  const backoff = backoffFunction(options.backoff ?? 'exponential');
  refuseAborted(signal);

  let errors: unknown[] | undefined;
  for (let attempt = 1; ; progress.attempt = ++attempt) {
    const context = { attempt, signal };
    try {
      return await (signal ? abortable(() => fn(context), signal) : fn(context));
    } catch (error) {
      if (signal?.aborted) throw abortError(signal, errors);
      if (isAbortError(error) || (shouldRetry && !(await shouldRetry(error, attempt)))) throw error;
      errors ??= [];
      errors.push(error);
      if (attempt > retries) throw new RetryError(errors);
      const delayMs = askedDelay(error) ?? jittered(backoff(attempt, error), jitter);
      checkMs('the delay given by backoff', delayMs, { cause: error });
      tell(onRetry, { attempt, error, delayMs });
      try {
        await wait(delayMs, { signal });
      } catch {
        throw abortError(signal as AbortSignal, errors);
      }
    }
  }
}

/** The delay that the failed service asked for. It knows better than any formula. */
function askedDelay(error: unknown): number | undefined {
  const ms = (error as { retryAfterMs?: unknown } | null | undefined)?.retryAfterMs;
  return typeof ms === 'number' && ms >= 0 ? ms : undefined;
}
