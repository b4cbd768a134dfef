import { setTimeout as delay } from 'node:timers/promises';

/** A named event that happens once. Any number of tests can wait for it. */
export interface Latch<T> {
  /** Resolves with the value of the first `open`. */
  readonly promise: Promise<T>;
  readonly opened: boolean;
  /** Makes it happen. Only the first call counts. */
  open(value: T): void;
  /**
   * Waits at most `deadlineMs` (5,000) of real time.
   * @throws Error with the name of the event if it has not happened by then.
   */
  wait(deadlineMs?: number): Promise<T>;
}

/**
 * Makes an event to wait for instead of sleeping.
 * @param name - the event in the words of the error message: "worker claimed the job".
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
      expired.catch(() => {}); // Also rejects if the latch opened first.
      try {
        return await Promise.race([promise, expired]);
      } finally {
        expiry.abort();
      }
    },
  };
}
