import { type Clock, within } from '@millrace/foundation';

/** What a look at the database works with. */
export interface StoreLookEnvironment<T> {
  /** The question. */
  readonly ask: () => Promise<T>;
  readonly clock: Clock;
  /** Longest wait for the database. */
  readonly waitMs: number;
}

/**
 * One look at the database for all gauges of a scrape that want the same. A database that is away costs `waitMs`, and what was last seen is shown: a
 * scrape that fails would lose the numbers of this process too, just when they are wanted.
 */
export class StoreLook<T> {
  readonly #environment: StoreLookEnvironment<T>;
  #seen: T | undefined;
  #underWay: Promise<void> | undefined;

  /** @param environment - see StoreLookEnvironment. */
  constructor(environment: StoreLookEnvironment<T>) {
    this.#environment = environment;
  }

  /**
   * Looks, or joins the look under way: gauges are asked in one turn, and a database that hangs is asked once.
   * @returns what the database said now, else the last time; undefined when it never did.
   */
  async read(): Promise<T | undefined> {
    const { clock, waitMs } = this.#environment;
    this.#underWay ??= this.#look();
    await within(clock, waitMs, this.#underWay);
    return this.#seen;
  }

  async #look(): Promise<void> {
    try {
      this.#seen = await this.#environment.ask();
    } catch {
      // The outbox' own loops log that the database is away, and more often than somebody scrapes.
    } finally {
      this.#underWay = undefined;
    }
  }
}
