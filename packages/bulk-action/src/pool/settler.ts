import { sleep, toWorkError } from '@millrace/foundation';
import type { SettleAnswer, Settlement } from '../lease.js';
import { PAUSE_AFTER_ERROR_MS, type PoolEnvironment } from './environment.js';
import { report } from './report.js';

/** Settlements in one call at most: bounds the time one call holds the store. */
const SETTLE_BATCH_MAX = 500;

interface Entry {
  readonly settlement: Settlement;
  readonly resolve: (answer: SettleAnswer | undefined) => void;
}

/**
 * Reports tries to the store, many in one call: what finishes in the same turn, and what finishes while a call is
 * under way. A call that failed is repeated with the same settlements until the store has taken them: the token makes
 * the repeat harmless.
 */
export class Settler {
  readonly #environment: PoolEnvironment;
  readonly #givenUp = new AbortController();
  readonly #unanswered = new Set<Entry>();
  #queue: Entry[] = [];
  #sending = false;

  /** @param environment - store, clock and logger count. */
  constructor(environment: PoolEnvironment) {
    this.#environment = environment;
  }

  /**
   * Reports one try.
   * @param settlement - the try.
   * @returns the store's answer; undefined after `giveUp`: the lease expires then, and the job runs again.
   */
  settle(settlement: Settlement): Promise<SettleAnswer | undefined> {
    if (this.#givenUp.signal.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const entry = { settlement, resolve };
      this.#queue.push(entry);
      this.#unanswered.add(entry);
      if (this.#sending) return;
      this.#sending = true;
      queueMicrotask(() => void this.#sendAll());
    });
  }

  /** Waits for no answer any more, not even of a call that hangs; what is unanswered resolves as undefined. */
  giveUp(): void {
    this.#givenUp.abort();
    if (this.#unanswered.size > 0) {
      const jobs = [...this.#unanswered].map(({ settlement }) => settlement.jobId);
      const message = 'Results could not be stored in time; the leases expire and the jobs run again';
      report(this.#environment.log, 'error', { jobs }, message);
    }
    for (const { resolve } of this.#unanswered) resolve(undefined);
    this.#unanswered.clear();
    this.#queue = [];
  }

  async #sendAll(): Promise<void> {
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, SETTLE_BATCH_MAX);
      const answers = await this.#send(batch.map(({ settlement }) => settlement));
      batch.forEach((entry, index) => {
        this.#unanswered.delete(entry);
        entry.resolve(answers?.[index]);
      });
    }
    this.#sending = false;
  }

  async #send(settlements: readonly Settlement[]): Promise<readonly SettleAnswer[] | undefined> {
    const { store, clock, log } = this.#environment;
    const { signal } = this.#givenUp;
    while (!signal.aborted) {
      try {
        return await store.leases.settle(settlements);
      } catch (error) {
        const { code, message } = toWorkError(error);
        report(log, 'error', { code, jobs: settlements.length, err: error }, `Settling failed: ${message}`);
        await sleep(clock, PAUSE_AFTER_ERROR_MS, signal);
      }
    }
    return undefined;
  }
}
