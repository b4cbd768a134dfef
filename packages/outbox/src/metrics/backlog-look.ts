import type { Clock } from '@millrace/foundation';
import type { Batches } from '../batches.js';
import type { BacklogView } from '../postgres/view-store.js';
import { within } from '../within.js';

/** What a look at the backlog works with. */
export interface BacklogLookEnvironment {
  readonly batches: Pick<Batches, 'backlog'>;
  readonly clock: Clock;
  /** Longest wait for the database. */
  readonly waitMs: number;
}

/**
 * One look at the backlog for all gauges of a scrape. A database that is away costs `waitMs`, and what was last seen is shown: a scrape that
 * fails would lose the numbers of this process too, just when they are wanted.
 */
export class BacklogLook {
  readonly #environment: BacklogLookEnvironment;
  #seen: BacklogView | undefined;
  #underWay: Promise<void> | undefined;

  /** @param environment - see BacklogLookEnvironment. */
  constructor(environment: BacklogLookEnvironment) {
    this.#environment = environment;
  }

  /**
   * Looks, or joins the look under way: gauges are asked in one turn, and a database that hangs is asked once.
   * @returns what the database said now, else the last time; undefined when it never did.
   */
  async read(): Promise<BacklogView | undefined> {
    const { clock, waitMs } = this.#environment;
    this.#underWay ??= this.#look();
    await within(clock, waitMs, this.#underWay);
    return this.#seen;
  }

  async #look(): Promise<void> {
    try {
      this.#seen = await this.#environment.batches.backlog();
    } catch {
      // The outbox' own loops log that the database is away, and more often than somebody scrapes.
    } finally {
      this.#underWay = undefined;
    }
  }
}
