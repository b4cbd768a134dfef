import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CancelTimer, type Clock, IndexedHeap } from '@millrace/foundation';

interface ManualClockOptions {
  /** The first `now()` (2026-01-01T00:00:00Z). */
  readonly now?: number | undefined;
  /** The first `monotonicMs()` (0). */
  readonly monotonicMs?: number | undefined;
}

interface Timer {
  readonly at: number;
  readonly sequence: number;
  readonly fn: () => void;
  index: number;
}

const NEW_YEAR_2026 = Date.UTC(2026, 0, 1);
const FIRINGS_MAX = 100_000;

/**
 * A clock that moves only when a test moves it.
 *
 * Timers fire in the order of their time, and at the same time in the order in which they were set. Each fires at exactly
 * its own `monotonicMs()`. Before the first timer and after each one, `advance` awaits a real `setImmediate`, so promise
 * chains of any depth have run, and timers that they set inside the window fire too. `advance` does not wait for real I/O.
 */
export class ManualClock implements Clock {
  #monotonic: number;
  #wallAhead: number;
  #sequence = 0;
  readonly #timers = new IndexedHeap<Timer, 'index'>(
    'index',
    (a, b) => a.at < b.at || (a.at === b.at && a.sequence < b.sequence),
  );
  #lastAdvance: Promise<void> = Promise.resolve();

  constructor(options: ManualClockOptions = {}) {
    this.#monotonic = options.monotonicMs ?? 0;
    this.#wallAhead = (options.now ?? NEW_YEAR_2026) - this.#monotonic;
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** The time of the next timer on the scale of `monotonicMs()`. */
  get nextTimerAt(): number | undefined {
    return this.#timers.peek()?.at;
  }

  now(): number {
    return this.#monotonic + this.#wallAhead;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  /**
   * Sets a timer and returns a function that cancels it. 0 ms fires in the next `advance`, also in `advance(0)`.
   * @throws RangeError unless the delay is a finite number of 0 or more.
   */
  setTimer(delayMs: number, fn: () => void): CancelTimer {
    requireDuration('delayMs', delayMs);
    const timer: Timer = { at: this.#monotonic + delayMs, sequence: this.#sequence++, fn, index: -1 };
    this.#timers.put(timer);
    return () => this.#timers.remove(timer);
  }

  /**
   * Moves both times forward and fires the timers that become due. Resolves when their microtasks have run. Overlapping
   * calls run one after the other.
   * @throws RangeError unless `ms` is a finite number of 0 or more; what a timer throws; Error after 100,000 timers in
   *   one call, because a timer that sets itself again after 0 ms would never let it end.
   */
  advance(ms: number): Promise<void> {
    requireDuration('ms', ms);
    const turn = this.#lastAdvance.then(() => this.#advance(ms));
    this.#lastAdvance = turn.catch(() => {});
    return turn;
  }

  /** Changes `now()` by `ms`, as an operator or NTP would. `monotonicMs()` and the timers stay. */
  jump(ms: number): void {
    this.#wallAhead += ms;
  }

  async #advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await nextTurn();
    for (let fired = 0; ; fired++) {
      const due = this.#timers.peek();
      if (due === undefined || due.at > end) break;
      if (fired === FIRINGS_MAX) {
        throw new Error(
          `advance(${ms}) fired ${FIRINGS_MAX} timers and is still at ${this.#monotonic} of ${end} ms`,
        );
      }
      this.#timers.remove(due);
      this.#monotonic = due.at;
      due.fn();
      await nextTurn();
    }
    this.#monotonic = end;
  }
}

function requireDuration(name: string, ms: number): void {
  if (!(Number.isFinite(ms) && ms >= 0)) {
    throw new RangeError(`expected ${name} to be a finite number of 0 or more, got ${ms}`);
  }
}
