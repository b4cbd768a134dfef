import type { CancelTimer, Clock, Rng } from '@millrace/foundation';

interface Timer {
  readonly at: number;
  readonly sequence: number;
  /** undefined once it was cancelled. */
  fn: (() => void) | undefined;
}

const NEW_YEAR_2026 = Date.UTC(2026, 0, 1);
const FIRINGS_MAX = 3_000_000;

const comesBefore = (a: Timer, b: Timer): boolean =>
  a.at < b.at || (a.at === b.at && a.sequence < b.sequence);

/** How a virtual clock differs from a perfect one. */
export interface VirtualClockOptions {
  /** Timers fire up to so much late, as those of a real machine do. */
  readonly latenessMs?: number | undefined;
  /** Draws how late. */
  readonly rng?: Rng | undefined;
}

/**
 * Time that jumps from one timer to the next: an hour of a busy engine passes in a second. Timers fire one by one in
 * the order of their time, and all promise chains have run before the next one does.
 */
export class VirtualClock implements Clock {
  readonly #timers: Timer[] = [];
  readonly #late: () => number;
  #time = 0;
  #sequence = 0;

  constructor({ latenessMs = 0, rng }: VirtualClockOptions = {}) {
    this.#late = rng && latenessMs > 0 ? () => rng.next() * latenessMs : () => 0;
  }

  now(): number {
    return NEW_YEAR_2026 + this.#time;
  }

  monotonicMs(): number {
    return this.#time;
  }

  setTimer(delayMs: number, fn: () => void): CancelTimer {
    if (!(Number.isFinite(delayMs) && delayMs >= 0)) throw new RangeError(`a delay of ${delayMs} ms`);
    return this.#set(this.#time + delayMs + this.#late(), fn);
  }

  /**
   * Sets a timer that is never late: for what a test does at a certain time.
   * @param atMs - when, on the scale of `monotonicMs()`.
   */
  at(atMs: number, fn: () => void): void {
    this.#set(Math.max(this.#time, atMs), fn);
  }

  /**
   * Lets time pass until the condition holds or the time has come.
   * @param done - asked whenever nothing more happens at the present time.
   * @param untilMs - on the scale of `monotonicMs()`.
   * @returns whether the condition holds.
   */
  async run(done: () => boolean, untilMs: number): Promise<boolean> {
    for (let fired = 0; fired < FIRINGS_MAX; fired++) {
      await microtasksRun();
      if (done()) return true;
      const next = this.#takeNext(untilMs);
      if (!next) {
        this.#time = Math.max(this.#time, untilMs);
        return false;
      }
      this.#time = next.at;
      next.fn?.();
    }
    throw new Error(`${FIRINGS_MAX} timers fired and the clock is still at ${this.#time} of ${untilMs} ms`);
  }

  #set(at: number, fn: () => void): CancelTimer {
    const timer: Timer = { at, sequence: this.#sequence++, fn };
    this.#push(timer);
    return () => {
      timer.fn = undefined;
    };
  }

  /** The first timer that still stands and is due by then, taken out. */
  #takeNext(untilMs: number): Timer | undefined {
    for (let first = this.#timers[0]; first; first = this.#timers[0]) {
      if (first.fn && first.at > untilMs) return undefined;
      this.#pop();
      if (first.fn) return first;
    }
    return undefined;
  }

  #push(timer: Timer): void {
    const heap = this.#timers;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!comesBefore(timer, heap[parent] as Timer)) break;
      heap[index] = heap[parent] as Timer;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): void {
    const heap = this.#timers;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && comesBefore(heap[child + 1] as Timer, heap[child] as Timer)) child += 1;
      if (!comesBefore(heap[child] as Timer, last)) break;
      heap[index] = heap[child] as Timer;
      index = child;
    }
    heap[index] = last;
  }
}

/** Node empties the whole queue of microtasks before it gets to a `setImmediate`, so chains of any depth have run. */
const microtasksRun = () => new Promise<void>((resolve) => setImmediate(resolve));
