import { abortable, abortError, onAbort, refuseAborted } from './abort.js';
import { checkCount, checkFunction, checkMs, checkOptions } from './checks.js';
import { TimeoutError } from './errors.js';

// The platform fires a longer timer after 1 ms instead of waiting.
const TIMER_MAX_MS = 2 ** 31 - 1;

/** `setTimeout` for any duration, Infinity included. `clearTimeout` clears it. */
export function startTimer(fn: () => void, ms: number): NodeJS.Timeout {
  if (ms <= TIMER_MAX_MS) return setTimeout(fn, ms);
  let turns = Math.ceil(ms / TIMER_MAX_MS);
  const timer = setTimeout(
    () => (--turns > 0 ? timer.refresh() : fn()),
    turns === Infinity ? TIMER_MAX_MS : ms / turns,
  );
  return timer;
}

/** Options of `wait`. */
export interface WaitOptions<T = undefined> {
  /** Ends the wait at once with an AbortError. */
  signal?: AbortSignal | undefined;
  /** Result of the wait. */
  value?: T | undefined;
  /** True lets the process exit while waiting (false). */
  unref?: boolean | undefined;
}

/** Options of `waitUntil`. */
export interface WaitUntilOptions extends Pick<WaitOptions, 'signal'> {
  /** Time from the end of one check to the next (50). */
  intervalMs?: number | undefined;
  /** Time limit (none). */
  timeoutMs?: number | undefined;
}

/**
 * Resolves with `options.value` after `ms`: with 0 in a microtask, never synchronously, with Infinity never.
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
 * Calls `condition` at once and then every `intervalMs` until it returns a truthy value, which is the result. The next
 * check starts after the last one has ended.
 * @throws TimeoutError (`TIMEOUT`) after `timeoutMs`; AbortError (`ABORTED`) when the signal aborts; an error of
 * `condition`; RangeError or TypeError for invalid options.
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
 * Calls `callback(0)`, `callback(1)` … `count` times, with `ms` from the end of one call to the start of the next.
 * @returns the results of the callbacks, in order.
 * @throws AbortError (`ABORTED`) when the signal aborts; an error of a callback; RangeError or TypeError for invalid input.
 */
export async function waitFor<T>(
  count: number,
  ms: number,
  callback: (index: number) => T | PromiseLike<T>,
  options: Pick<WaitOptions, 'signal'> = {},
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
