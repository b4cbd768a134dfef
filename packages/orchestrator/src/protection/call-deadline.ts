import type { CancelTimer, Clock } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

/** The limits of a call. */
export interface CallDeadlineOptions {
  readonly clock: Clock;
  /** The signal of the caller. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number | undefined;
  /** Start of the time, on the monotonic clock. */
  readonly sinceMs: number;
}

/** The end of a call by the signal of its caller or by its timeout, whichever comes first. */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onAbort = () => this.#controller.abort(this.#caller.reason);
  readonly #cancelTimer: CancelTimer | undefined;
  #timedOut = false;

  constructor({ clock, signal, timeoutMs, sinceMs }: CallDeadlineOptions) {
    this.#caller = signal;
    if (signal.aborted) {
      this.#onAbort();
      return;
    }
    signal.addEventListener('abort', this.#onAbort, { once: true });
    if (timeoutMs === undefined) return;
    const timeOut = () => {
      this.#timedOut = !this.signal.aborted;
      this.#controller.abort(ERRORS.create('OPERATION_TIMEOUT', { timeoutMs }));
    };
    const leftMs = timeoutMs - (clock.monotonicMs() - sinceMs);
    if (leftMs > 0) this.#cancelTimer = clock.setTimer(leftMs, timeOut);
    else timeOut();
  }

  /** Aborts at the end, with its reason. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** True if the timeout came first. */
  get timedOut(): boolean {
    return this.#timedOut;
  }

  /**
   * Waits for an event, at most until the end.
   * @param event - must not reject.
   */
  async wait(event: Promise<void>): Promise<void> {
    if (this.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.signal.removeEventListener('abort', done);
        resolve();
      };
      this.signal.addEventListener('abort', done, { once: true });
      void event.then(done);
    });
  }

  /** Releases the timer and the listener on the caller's signal. */
  dispose(): void {
    this.#cancelTimer?.();
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
