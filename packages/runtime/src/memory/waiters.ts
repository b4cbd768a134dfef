import { onAbort } from '@millrace/async-utils';
import { type CancelTimer, type Clock, type Linked, LinkedList } from '@millrace/foundation';
import { abortError } from '../errors.js';

/** One waiting caller. All fields exist from the start, so that all waiters have one shape in V8. */
export interface Waiter<V, D> extends Linked<Waiter<V, D>> {
  /** The payload of a putter. */
  readonly data: D;
  readonly resolve: (value: V) => void;
  readonly reject: (error: unknown) => void;
  cancelTimer: CancelTimer | undefined;
  offAbort: (() => void) | undefined;
}

/** The end of a wait that is not served. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Waiting callers, first come, first served. One that gives up leaves in constant time. A caller that has left has
 * neither timer nor listener.
 */
export class Waiters<V, D = undefined> {
  readonly #clock: Clock;
  readonly #onTimeout: (waiter: Waiter<V, D>) => void;
  readonly #waiting = new LinkedList<Waiter<V, D>>();

  /** @param onTimeout - settles a waiter whose time is up. It has already left. */
  constructor(clock: Clock, onTimeout: (waiter: Waiter<V, D>) => void) {
    this.#clock = clock;
    this.#onTimeout = onTimeout;
  }

  /** Waits behind all others. */
  join(data: D, { timeoutMs, signal }: WaitLimits): Promise<V> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter<V, D> = {
        data,
        resolve,
        reject,
        cancelTimer: undefined,
        offAbort: undefined,
        previous: undefined,
        next: undefined,
      };
      this.#waiting.push(waiter);
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

  /** Removes the caller that has waited longest. It must be settled. */
  shift(): Waiter<V, D> | undefined {
    const { first } = this.#waiting;
    if (first) this.#leave(first);
    return first;
  }

  #leave(waiter: Waiter<V, D>): void {
    this.#waiting.remove(waiter);
    waiter.cancelTimer?.();
    waiter.offAbort?.();
  }
}
