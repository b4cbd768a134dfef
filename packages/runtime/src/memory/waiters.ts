import type { CancelTimer, Clock } from '@millrace/foundation';
import { abortError, onAbort } from '../on-abort.js';

/** One caller that waits; in at most one line. Plain data with all fields from the start, which V8 likes best. */
export interface Waiter<V, D> {
  /** What it brought along: the payload of a putter. */
  readonly data: D;
  readonly resolve: (value: V) => void;
  readonly reject: (error: unknown) => void;
  cancelTimer: CancelTimer | undefined;
  offAbort: (() => void) | undefined;
  previous: Waiter<V, D> | undefined;
  next: Waiter<V, D> | undefined;
}

/** When a wait ends by itself. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Callers that wait in line: the first comes first, and one that gives up leaves from the middle in constant time.
 * Whoever is taken out has neither timer nor listener left.
 */
export class Waiters<V, D = undefined> {
  readonly #clock: Clock;
  readonly #onTimeout: (waiter: Waiter<V, D>) => void;
  #first: Waiter<V, D> | undefined;
  #last: Waiter<V, D> | undefined;

  /** @param onTimeout - settles a waiter whose time is up; it has already left the line. */
  constructor(clock: Clock, onTimeout: (waiter: Waiter<V, D>) => void) {
    this.#clock = clock;
    this.#onTimeout = onTimeout;
  }

  /** Joins the end of the line. */
  join(data: D, { timeoutMs, signal }: WaitLimits): Promise<V> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter<V, D> = {
        data,
        resolve,
        reject,
        cancelTimer: undefined,
        offAbort: undefined,
        previous: this.#last,
        next: undefined,
      };
      if (this.#last) this.#last.next = waiter;
      else this.#first = waiter;
      this.#last = waiter;
      if (timeoutMs !== Infinity) {
        waiter.cancelTimer = this.#clock.setTimer(timeoutMs, () => {
          this.#leave(waiter);
          this.#onTimeout(waiter);
        });
      }
      if (signal) {
        waiter.offAbort = onAbort(signal, () => {
          this.#leave(waiter);
          reject(abortError(signal));
        });
      }
    });
  }

  /** Takes out the one that has waited longest; the caller settles it. */
  shift(): Waiter<V, D> | undefined {
    const first = this.#first;
    if (first) this.#leave(first);
    return first;
  }

  #leave(waiter: Waiter<V, D>): void {
    const { previous, next } = waiter;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    // Whoever still holds this one must not hold all who came after it.
    waiter.previous = waiter.next = undefined;
    waiter.cancelTimer?.();
    waiter.offAbort?.();
  }
}
