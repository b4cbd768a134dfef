import { type Clock, withDeadline } from './clock.js';

/** What a look at a store works with. */
export interface StoreLookEnvironment<T> {
  /** The question. */
  readonly ask: () => Promise<T>;
  readonly clock: Clock;
  /** Longest wait for the store. */
  readonly waitMs: number;
}

/**
 * One look at a store for all gauges of a scrape that want the same. A store that is away costs `waitMs`, and what was last seen is shown: a
 * scrape that fails would lose the numbers of this process too, just when they are wanted.
 */
export class StoreLook<T> {
  readonly #environment: StoreLookEnvironment<T>;
  #seen: T | undefined;
  #underWay: Promise<void> | undefined;

  constructor(environment: StoreLookEnvironment<T>) {
    this.#environment = environment;
  }

  /**
   * Looks, or joins the look under way: gauges are asked in one turn, and a store that hangs is asked once.
   * @returns what the store said now, else the last time; undefined when it never did.
   */
  async read(): Promise<T | undefined> {
    const { clock, waitMs } = this.#environment;
    this.#underWay ??= this.#look();
    await withDeadline(clock, waitMs, this.#underWay);
    return this.#seen;
  }

  async #look(): Promise<void> {
    try {
      this.#seen = await this.#environment.ask();
    } catch {
      // The loops of the part log that its store is away, and more often than somebody scrapes.
    } finally {
      this.#underWay = undefined;
    }
  }
}
