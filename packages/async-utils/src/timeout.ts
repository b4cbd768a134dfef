import { abortError, onAbort, refuseAborted } from './abort.js';
import { checkMs, refuseType } from './checks.js';
import { TimeoutError } from './errors.js';
import { type AsyncHooks, observed, silence, tell } from './hooks.js';
import { startTimer } from './wait.js';

/** Options of `timeout`. */
export interface TimeoutOptions<F = never> extends Pick<AsyncHooks, 'onTimeout' | 'onSuccess' | 'onError'> {
  /** Time limit. 0 gives up at once without calling the function, Infinity never does. */
  ms: number;
  /** Result in place of an error when the time is up: a value, or a function that makes one. `undefined` is a value. */
  fallback?: F | (() => F | PromiseLike<F>);
  /** Error in place of TimeoutError, or a function that makes one. */
  error?: Error | (() => Error) | undefined;
  /** Called once when the time is up, before the result is returned. May be async. */
  cleanup?: (() => unknown) | undefined;
  /** Ends the wait at once with an AbortError. */
  signal?: AbortSignal | undefined;
}

/**
 * Returns the outcome of `input`, or the fallback if it takes longer than `ms`.
 * @param input - a promise, or a function. The function's signal aborts when the time is up or the caller aborts.
 * @param limit - milliseconds, or options.
 * @throws TimeoutError (`TIMEOUT`) or the configured error when the time is up; AbortError (`ABORTED`) when the signal
 * aborts; RangeError or TypeError for invalid options.
 */
export function timeout<T, F = never>(
  input: PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T> | T),
  limit: number | TimeoutOptions<F>,
): Promise<T | F> {
  const options: TimeoutOptions<F> = typeof limit === 'object' && limit ? limit : { ms: limit as number };
  const work = () => new Promise<T | F>((resolve, reject) => race(input, options, resolve, reject));
  return observed(options, () => 1, work);
}

function race<T, F>(
  input: PromiseLike<T> | ((signal: AbortSignal) => PromiseLike<T> | T),
  options: TimeoutOptions<F>,
  resolve: (value: T | F | PromiseLike<T | F>) => void,
  reject: (error: unknown) => void,
): void {
  const { ms, signal } = options;
  const isFunction = typeof input === 'function';
  if (!isFunction && typeof input?.then !== 'function') refuseType('input', 'a promise or a function', input);
  try {
    checkMs('ms', ms);
    refuseAborted(signal);
  } catch (error) {
    silence(input);
    throw error;
  }
  if (ms === 0) {
    silence(input);
    giveUp(options, new TimeoutError(ms)).then(resolve, reject);
    return;
  }

  const controller = isFunction ? new AbortController() : undefined;
  let timer: NodeJS.Timeout | undefined;
  let open = true;
  const offAbort =
    signal &&
    onAbort(signal, () => {
      close();
      controller?.abort(signal.reason);
      reject(abortError(signal));
    });
  const close = () => {
    open = false;
    clearTimeout(timer);
    offAbort?.();
  };
  if (ms !== Infinity)
    timer = startTimer(() => {
      open = false;
      const error = new TimeoutError(ms);
      controller?.abort(error);
      giveUp(options, error).then(resolve, reject).then(offAbort);
    }, ms);

  const work = isFunction
    ? new Promise<T>((started) => started(input((controller as AbortController).signal)))
    : Promise.resolve(input);
  const inTime =
    <V>(settle: (outcome: V) => void) =>
    (outcome: V) => {
      if (!open) return;
      close();
      settle(outcome);
    };
  work.then(inTime(resolve), inTime(reject));
}

/** Reports the timeout, cleans up, and returns the fallback or throws. */
async function giveUp<F>(options: TimeoutOptions<F>, timedOut: TimeoutError): Promise<F> {
  const { ms, fallback, cleanup } = options;
  tell(options.onTimeout, { ms });
  let failure: { cause: unknown } | undefined;
  try {
    await cleanup?.();
  } catch (cause) {
    failure = { cause };
  }
  if ('fallback' in options)
    return typeof fallback === 'function' ? await (fallback as () => F | PromiseLike<F>)() : (fallback as F);
  const error = typeof options.error === 'function' ? options.error() : (options.error ?? timedOut);
  if (failure)
    Object.defineProperty(error, 'cause', { value: failure.cause, configurable: true, writable: true });
  throw error;
}
