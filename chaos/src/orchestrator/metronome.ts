/** Beats so often, and is late by so much at most while the machine keeps up. */
const BEAT_MS = 10;
const LATE_MS = 40;

/**
 * Knows when the machine had no time for this process, as when too many others start at once: what took long then says nothing about those who
 * were asked.
 */
export class Metronome implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #last = performance.now();
  #stalledUntil = 0;

  constructor() {
    this.#timer = setInterval(() => this.#beat(), BEAT_MS);
  }

  /**
   * Whether the machine kept up since then.
   * @param from - by `performance.now()`.
   */
  keptUpSince(from: number): boolean {
    this.#beat();
    return this.#stalledUntil < from;
  }

  /** Ends it. */
  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = performance.now();
    if (now - this.#last > BEAT_MS + LATE_MS) this.#stalledUntil = now;
    this.#last = now;
  }
}
