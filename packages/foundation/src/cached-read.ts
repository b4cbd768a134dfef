import { type Clock, withDeadline } from './clock.js';

/** A read and how long its value may be used. */
export interface CachedReadOptions<T> {
  read(): Promise<T>;
  readonly clock: Clock;
  /** Longest wait for a read. After that callers get the last value. (none) */
  readonly waitMs?: number | undefined;
  /** Age up to which a value is returned without another read, from the end of the last read (0). */
  readonly maxAgeMs?: number | undefined;
}

/**
 * Shares one read among all callers, for gauges that need the same value. Returns the last value if the store fails or
 * is slow: a failed scrape would lose the metrics of this process as well, just when they matter.
 */
export class CachedRead<T> {
  readonly #options: CachedReadOptions<T>;
  #value: T | undefined;
  #reading: Promise<void> | undefined;
  #freshUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: CachedReadOptions<T>) {
    this.#options = options;
  }

  /** Returns the value read now, else the last one, else undefined. Joins a read in progress. Never throws. */
  async get(): Promise<T | undefined> {
    const { clock, waitMs } = this.#options;
    if (this.#reading || clock.monotonicMs() >= this.#freshUntilMs) {
      this.#reading ??= this.#read();
      await (waitMs === undefined ? this.#reading : withDeadline(clock, waitMs, this.#reading));
    }
    return this.#value;
  }

  async #read(): Promise<void> {
    const { read, clock, maxAgeMs = 0 } = this.#options;
    try {
      this.#value = await read();
    } catch {
      // The loops of the package log that its store is unavailable, and more often than metrics are scraped.
    } finally {
      // A failed read counts too: a store that gives up on an expensive query has worked on it all the same.
      this.#freshUntilMs = clock.monotonicMs() + maxAgeMs;
      this.#reading = undefined;
    }
  }
}
