import type { CancelTimer, Clock } from '@millrace/foundation';
import { ERRORS } from '../errors.js';

/** What can end a call before its work does. */
export interface CutoffOptions {
  readonly clock: Clock;
  /** The caller's. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number | undefined;
  /** When the time began, on the monotonic clock. */
  readonly sinceMs: number;
}

/** The earlier of two ends: the caller's signal and the timeout. */
export class Cutoff {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #onAbort = () => this.#controller.abort(this.#caller.reason);
  readonly #cancelTimer: CancelTimer | undefined;
  #timedOut = false;

  constructor({ clock, signal, timeoutMs, sinceMs }: CutoffOptions) {
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

  /** Aborts at the cut, with the reason for it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether there was a cut, and the timeout was it. */
  get timedOut(): boolean {
    return this.#timedOut;
  }

  /**
   * Waits, but not beyond the cut.
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

  /** Ends the watch over signal and time. */
  dispose(): void {
    this.#cancelTimer?.();
    this.#caller.removeEventListener('abort', this.#onAbort);
  }
}
