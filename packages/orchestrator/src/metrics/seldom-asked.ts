import type { Clock } from '@millrace/foundation';

/** A question that costs much. */
export interface SeldomAskedOptions<T> {
  readonly ask: () => Promise<T>;
  readonly clock: Clock;
  /** Between the end of one and the start of the next. */
  readonly everyMs: number;
}

/** Asks a question that costs much once in a while, one at a time, and gives the answer to everybody who comes meanwhile. */
export class SeldomAsked<T> {
  readonly #options: SeldomAskedOptions<T>;
  #answer: Promise<T> | undefined;
  #staleAtMs = Number.POSITIVE_INFINITY;

  constructor(options: SeldomAskedOptions<T>) {
    this.#options = options;
  }

  /**
   * The latest answer. One that failed is kept as long: a store that breaks off such a question after a while has worked for it all the same.
   * @throws what the question threw.
   */
  read(): Promise<T> {
    const { ask, clock, everyMs } = this.#options;
    if (this.#answer && clock.monotonicMs() < this.#staleAtMs) return this.#answer;
    this.#staleAtMs = Number.POSITIVE_INFINITY;
    this.#answer = ask().finally(() => {
      this.#staleAtMs = clock.monotonicMs() + everyMs;
    });
    return this.#answer;
  }
}
