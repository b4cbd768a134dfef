import { abortable, abortError, onAbort, refuseAborted } from './abort.js';
import { checkCount, checkFunction, checkMs, checkOptions } from './checks.js';
import { TimeoutError } from './errors.js';
import { startTimer } from './timer.js';

/** Options of `wait`. */
export interface WaitOptions<T = undefined> {
  /** Ends the wait at once with an AbortError. */
  signal?: AbortSignal | undefined;
  /** What the wait resolves with. */
  value?: T | undefined;
  /** True lets the process exit while waiting (false). */
  unref?: boolean | undefined;
}

/** Options of `waitUntil`. */
export interface WaitUntilOptions {
  /** Time from the end of one check to the next (50). */
  intervalMs?: number | undefined;
  /** How long to go on (for ever). */
  timeoutMs?: number | undefined;
  /** Ends the wait at once with an AbortError. */
  signal?: AbortSignal | undefined;
}

/**
 * Resolves after `ms`; with 0 in a microtask, never synchronously.
 * @param ms - 0 or more; Infinity waits until the signal aborts.
 * @returns `options.value`.
 * @throws AbortError (`ABORTED`) when the signal aborts; RangeError for a negative or missing time.
 */
export function wait<T = undefined>(ms: number, options: WaitOptions<T> = {}): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    checkOptions(options);
    const { signal, unref } = options;
    const value = options.value as T;
    checkMs('ms', ms);
    refuseAborted(signal);
    if (ms === 0) {
      resolve(value);
      return;
    }
    const timer = startTimer(() => {
      offAbort?.();
      resolve(value);
    }, ms);
    if (unref) timer.unref();
    const offAbort =
      signal &&
      onAbort(signal, () => {
        clearTimeout(timer);
        reject(abortError(signal));
      });
  });
}

/**
 * Calls `condition` at once and then every `intervalMs` until it gives something truthy.
 * @param condition - may be async; the next check starts after the last has ended.
 * @returns the truthy value.
 * @throws TimeoutError (`TIMEOUT`) after `timeoutMs`; AbortError (`ABORTED`) when the signal aborts; what `condition`
 * throws; RangeError or TypeError for bad options.
 */
export function waitUntil<T>(
  condition: () => T | PromiseLike<T>,
  options: WaitUntilOptions = {},
): Promise<Exclude<T, false | 0 | '' | null | undefined>> {
  return new Promise((resolve, reject) => {
    checkOptions(options);
    const { intervalMs = 50, timeoutMs = Infinity, signal } = options;
    checkFunction('condition', condition);
    checkMs('intervalMs', intervalMs);
    checkMs('timeoutMs', timeoutMs);
    refuseAborted(signal);

    let open = true;
    let poll: NodeJS.Timeout | undefined;
    const end = (settle: () => void) => {
      open = false;
      clearTimeout(poll);
      clearTimeout(deadline);
      offAbort?.();
      settle();
    };
    const deadline =
      timeoutMs === Infinity
        ? undefined
        : startTimer(() => end(() => reject(new TimeoutError(timeoutMs))), timeoutMs);
    const offAbort = signal && onAbort(signal, () => end(() => reject(abortError(signal))));
    const check = async () => {
      try {
        const value = await condition();
        if (!open) return;
        if (value) end(() => resolve(value as Exclude<T, false | 0 | '' | null | undefined>));
        else poll = startTimer(check, intervalMs);
      } catch (error) {
        if (open) end(() => reject(error));
      }
    };
    check();
  });
}

/**
 * Calls `callback(0)`, `callback(1)` … `count` times with `ms` between the calls and none after the last.
 * @param count - how many calls.
 * @param ms - the pause from the end of one call to the start of the next.
 * @param callback - awaited when async.
 * @param options - `signal` ends the series at once with an AbortError.
 * @returns what the callbacks gave, in order.
 * @throws AbortError (`ABORTED`) when the signal aborts; what a callback throws; RangeError or TypeError for bad input.
 */
export async function waitFor<T>(
  count: number,
  ms: number,
  callback: (index: number) => T | PromiseLike<T>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<T[]> {
  checkOptions(options);
  const { signal } = options;
  checkCount('count', count);
  checkMs('ms', ms);
  checkFunction('callback', callback);
  refuseAborted(signal);
  const results: T[] = [];
  for (let index = 0; index < count; index++) {
    if (index > 0) await wait(ms, { signal });
    refuseAborted(signal);
    results.push(await (signal ? abortable(() => callback(index), signal) : callback(index)));
  }
  return results;
}
