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

/** The two ways to end a wait. The first call counts, and removes the timer and the listener of the wait. */
export interface Wait<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

/** The limits of a wait. */
export interface WaitLimits<T> {
  readonly clock: Clock;
  /** Longest wait (no limit). */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Ends the wait at its time limit. */
  onTimeout(wait: Wait<T>): void;
  /** Ends the wait when the signal aborts, or at once if it has aborted. (rejects with the signal's reason) */
  onAbort?(wait: Wait<T>, reason: unknown): void;
}

/**
 * Begins a wait that also ends at a time limit and by a signal.
 * @param begin - not called if the signal has aborted.
 */
export function beginWait<T>(limits: WaitLimits<T>, begin: (wait: Wait<T>) => void): Promise<T> {
  const { clock, timeoutMs, signal, onTimeout, onAbort = rejectWith } = limits;
  return new Promise((resolve, reject) => {
    let cancelTimer: CancelTimer | undefined;
    const abort = () => onAbort(wait, signal?.reason);
    const settle = () => {
      cancelTimer?.();
      signal?.removeEventListener('abort', abort);
    };
    const wait: Wait<T> = {
      resolve(value) {
        settle();
        resolve(value);
      },
      reject(error) {
        settle();
        reject(error);
      },
    };
    if (signal?.aborted) {
      abort();
      return;
    }
    if (timeoutMs !== undefined) cancelTimer = clock.setTimer(Math.max(0, timeoutMs), () => onTimeout(wait));
    signal?.addEventListener('abort', abort, { once: true });
    begin(wait);
  });
}

const rejectWith = (wait: Wait<never>, reason: unknown) => wait.reject(reason);

/** Waits `delayMs`. Resolves to true after that time, or to false as soon as `signal` aborts. */
export const sleep = (clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> =>
  beginWait(
    {
      clock,
      timeoutMs: delayMs,
      signal,
      onTimeout: ({ resolve }) => resolve(true),
      onAbort: ({ resolve }) => resolve(false),
    },
    () => {},
  );

/** The result of `withDeadline` when the deadline passes first. */
export const TIMED_OUT = Symbol('timed out');

/**
 * Waits at most `ms` for `work`. Returns its value, or `TIMED_OUT`. Ignores a value or rejection that arrives later.
 * @throws what `work` rejects with before the deadline.
 */
export const withDeadline = <T>(clock: Clock, ms: number, work: Promise<T>): Promise<T | typeof TIMED_OUT> =>
  beginWait<T | typeof TIMED_OUT>(
    { clock, timeoutMs: ms, onTimeout: ({ resolve }) => resolve(TIMED_OUT) },
    ({ resolve, reject }) => work.then(resolve, reject),
  );

/** Returns a name for this process that no other process has, including a later one with the same pid. */
export const processName = (): string =>
  `${hostname()}-${process.pid}-${Math.round(performance.timeOrigin).toString(36)}`;
