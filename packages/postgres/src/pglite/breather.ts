import { setImmediate as nextRound } from 'node:timers/promises';

/** How long statements may follow each other before timers, signals and sockets get their turn. */
const LONGEST_MS = 5;

/**
 * Lets the rest of the process breathe. PGlite computes inside this thread and answers without ever going back to the
 * event loop: a caller that asks again and again would keep every timer, signal and request from being seen.
 */
export class Breather {
  #lastAt = performance.now();

  /** Goes once round the event loop when that is due. */
  async breathe(): Promise<void> {
    if (performance.now() - this.#lastAt < LONGEST_MS) return;
    await nextRound();
    this.#lastAt = performance.now();
  }
}
