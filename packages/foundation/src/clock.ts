/** Stops a timer that has not fired yet; calling it twice, or after the timer fired, does nothing. */
export type CancelTimer = () => void;

/**
 * The one source of time and timers for core code.
 *
 * Core code never reads `Date` or sets a platform timer: a test or a simulation that holds the clock then holds
 * every step of the program.
 */
export interface Clock {
  /** Milliseconds since the Unix epoch; may jump when the machine's clock is set. */
  now(): number;
  /** Milliseconds from an arbitrary start that never go backwards; for measuring durations. */
  monotonicMs(): number;
  /**
   * Calls `fn` once after `delayMs`.
   * @param delayMs - 0 or more; 0 means "as soon as pending work allows", never synchronously.
   * @param fn - must not throw.
   * @param options - `unref: true` lets the process exit while the timer is pending.
   * @returns a function that cancels the timer.
   */
  setTimer(delayMs: number, fn: () => void, options?: { readonly unref?: boolean | undefined }): CancelTimer;
}

/**
 * Waits on a clock.
 * @param delayMs - how long.
 * @returns true when the time has passed, false when the signal aborted first (also when it already was).
 */
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
