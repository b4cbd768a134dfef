import { type Clock, within } from '@millrace/foundation';
import type { QueuesView } from '../model.js';
import type { StoreViews } from '../store-views.js';

/** What a look at the queues works with. */
export interface QueuesLookEnvironment {
  readonly views: Pick<StoreViews, 'queues'>;
  readonly clock: Clock;
  /** Longest wait for the store. */
  readonly waitMs: number;
}

/**
 * One look at the store's queues for all gauges of a scrape. A store that is down costs `waitMs`, and what was last seen is
 * shown: a scrape that fails would lose the numbers of this process too, just when they are wanted.
 */
export class QueuesLook {
  readonly #environment: QueuesLookEnvironment;
  #seen: QueuesView | undefined;
  #underWay: Promise<void> | undefined;

  /** @param environment - see QueuesLookEnvironment. */
  constructor(environment: QueuesLookEnvironment) {
    this.#environment = environment;
  }

  /**
   * Looks, or joins the look under way: gauges are asked in one turn, and a store that hangs is asked once.
   * @returns what the store said now, else the last time; undefined when it never did.
   */
  async read(): Promise<QueuesView | undefined> {
    const { clock, waitMs } = this.#environment;
    this.#underWay ??= this.#look();
    await within(clock, waitMs, this.#underWay);
    return this.#seen;
  }

  async #look(): Promise<void> {
    try {
      this.#seen = await this.#environment.views.queues();
    } catch {
      // The pool's own loops log that the store is down, and more often than somebody scrapes.
    } finally {
      this.#underWay = undefined;
    }
  }
}
