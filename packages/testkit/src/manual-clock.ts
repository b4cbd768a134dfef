import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CancelTimer, Clock } from '@millrace/foundation';

/** Where a manual clock starts. */
export interface ManualClockOptions {
  /** The first `now()`; 2026-01-01T00:00:00Z unless given. */
  readonly now?: number | undefined;
  /** The first `monotonicMs()`; 0 unless given. */
  readonly monotonicMs?: number | undefined;
}

interface Timer {
  readonly at: number;
  readonly sequence: number;
  readonly fn: () => void;
}

const NEW_YEAR_2026 = Date.UTC(2026, 0, 1);
const FIRINGS_MAX = 100_000;

/**
 * A clock that stands still until a test moves it.
 *
 * Timers fire in the order of their time, those of one time in the order they were set, each at exactly its own
 * `monotonicMs()`. Before the first and after every one, `advance` awaits a real `setImmediate`: Node empties the
 * whole queue of microtasks before it gets there, so promise chains of any depth have run, and timers they set
 * inside the window fire too. Real I/O is not waited for.
 */
export class ManualClock implements Clock {
  #monotonic: number;
  #wallAhead: number;
  #sequence = 0;
  /** Sorted by time, then by the order they were set. */
  readonly #timers: Timer[] = [];
  #lastAdvance: Promise<void> = Promise.resolve();

  constructor(options: ManualClockOptions = {}) {
    this.#monotonic = options.monotonicMs ?? 0;
    this.#wallAhead = (options.now ?? NEW_YEAR_2026) - this.#monotonic;
  }

  /** How many timers are set and have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  /** When the next timer is due, on the scale of `monotonicMs()`; `undefined` when none is set. */
  get nextTimerAt(): number | undefined {
    return this.#timers[0]?.at;
  }

  now(): number {
    return this.#monotonic + this.#wallAhead;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  /**
   * Sets a timer; 0 ms means the next `advance`, be it `advance(0)`.
   * @param delayMs - how long from now.
   * @param fn - called once.
   * @returns a function that cancels the timer.
   * @throws RangeError when the delay is not a finite number of 0 or more.
   */
  setTimer(delayMs: number, fn: () => void): CancelTimer {
    requireDuration('delayMs', delayMs);
    const timer: Timer = { at: this.#monotonic + delayMs, sequence: this.#sequence++, fn };
    this.#timers.splice(this.#indexFor(timer), 0, timer);
    return () => {
      const index = this.#indexFor(timer);
      if (this.#timers[index] === timer) this.#timers.splice(index, 1);
    };
  }

  /**
   * Moves both times forward and fires what falls due on the way. Calls that overlap run one after the other.
   * @param ms - how far; 0 fires what is due now.
   * @returns when everything that was due has fired and its microtasks have run.
   * @throws RangeError when `ms` is not a finite number of 0 or more; what a timer throws; Error after 100,000
   *   timers in one call, since a timer that sets itself again after 0 ms would never let it end.
   */
  advance(ms: number): Promise<void> {
    requireDuration('ms', ms);
    const turn = this.#lastAdvance.then(() => this.#advance(ms));
    this.#lastAdvance = turn.catch(() => {});
    return turn;
  }

  /**
   * Sets the wall clock, as an operator or NTP would: `now()` jumps, `monotonicMs()` and the timers do not notice.
   * @param ms - how far; negative is back.
   */
  jump(ms: number): void {
    this.#wallAhead += ms;
  }

  async #advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await nextTurn();
    for (let fired = 0; ; fired++) {
      const due = this.#timers[0];
      if (due === undefined || due.at > end) break;
      if (fired === FIRINGS_MAX) {
        throw new Error(
          `advance(${ms}) fired ${FIRINGS_MAX} timers and is still at ${this.#monotonic} of ${end} ms`,
        );
      }
      this.#timers.shift();
      this.#monotonic = due.at;
      due.fn();
      await nextTurn();
    }
    this.#monotonic = end;
  }

  #indexFor(timer: Timer): number {
    let low = 0;
    let high = this.#timers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (comesBefore(this.#timers[middle], timer)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function comesBefore(a: Timer | undefined, b: Timer): boolean {
  if (a === undefined) return false;
  return a.at < b.at || (a.at === b.at && a.sequence < b.sequence);
}

function requireDuration(name: string, ms: number): void {
  if (!(Number.isFinite(ms) && ms >= 0)) {
    throw new RangeError(`expected ${name} to be a finite number of 0 or more, got ${ms}`);
  }
}
