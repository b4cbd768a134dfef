import { hostname } from 'node:os';

/** Stops a timer that has not fired yet. Calling it twice, or after the timer fired, does nothing. */
export type CancelTimer = () => void;

/**
 * The source of time and timers for core code, which never reads `Date` or sets a platform timer. A test or a simulation
 * that holds the clock then controls every step of the program.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch. May jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start that never go backwards. For measuring durations. */
  monotonicMs(): number;
  /**
   * Calls `fn` once after `delayMs`, never synchronously.
   * @param fn - must not throw.
   * @param options - `unref: true` lets the process exit while the timer is pending.
   */
  setTimer(delayMs: number, fn: () => void, options?: { readonly unref?: boolean | undefined }): CancelTimer;
}

// The platform fires a longer timer after 1 ms instead of waiting.
const TIMER_MAX_MS = 2 ** 31 - 1;

/** The machine's own clock and timers. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fn, options) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      timer = setTimeout(
        () => (leftMs > TIMER_MAX_MS ? arm(leftMs - TIMER_MAX_MS) : fn()),
        Math.min(leftMs, TIMER_MAX_MS),
      );
      if (options?.unref) timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Waits `delayMs`. Resolves to true after that time, or to false as soon as `signal` aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(false);
      return;
    }
    const onAbort = () => {
      cancel();
      resolve(false);
    };
    const cancel = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve(true);
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The result of `withDeadline` when the deadline passes first. */
export const TIMED_OUT = Symbol('timed out');

/**
 * Waits at most `ms` for `work`. Returns its value, or `TIMED_OUT`. Ignores a value or rejection that arrives later.
 * @throws what `work` rejects with before the deadline.
 */
export function withDeadline<T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | typeof TIMED_OUT> {
  return new Promise((resolve, reject) => {
    const cancel = clock.setTimer(ms, () => resolve(TIMED_OUT));
    work.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
}

/** Returns a name for this process that no other process has, including a later one with the same pid. */
export const processName = (): string =>
  `${hostname()}-${process.pid}-${Math.round(performance.timeOrigin).toString(36)}`;
