import { setTimeout as delay } from 'node:timers/promises';

/** A named event that happens once and that any number of tests can wait for. */
export interface Latch<T> {
  /** Resolves with the value of the first `open`; waits for ever when there is none. */
  readonly promise: Promise<T>;
  /** Whether it has happened. */
  readonly opened: boolean;
  /** Makes it happen; only the first call counts. */
  open(value: T): void;
  /**
   * Waits with a deadline in real time.
   * @throws Error that names the event when it has not happened in `deadlineMs` (5000 unless given).
   */
  wait(deadlineMs?: number): Promise<T>;
}

/**
 * Makes an event to wait for instead of sleeping.
 * @param name - what happens, as the error message should say it: "worker claimed the job".
 * @returns the latch, closed.
 */
export function latch<T = void>(name: string): Latch<T> {
  let opened = false;
  let resolve: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return {
    promise,
    get opened() {
      return opened;
    },
    open(value) {
      opened = true;
      resolve(value);
    },
    async wait(deadlineMs = 5_000) {
      const expiry = new AbortController();
      const expired = delay(deadlineMs, undefined, { signal: expiry.signal }).then(() => {
        throw new Error(`expected "${name}" within ${deadlineMs} ms, it did not happen`);
      });
      expired.catch(() => {}); // Also rejects when the latch opened first.
      try {
        return await Promise.race([promise, expired]);
      } finally {
        expiry.abort();
      }
    },
  };
}
