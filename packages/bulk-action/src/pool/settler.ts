import { sleep, toWorkError } from '@millrace/foundation';
import type { SettleAnswer, Settlement } from '../lease.js';
import { PAUSE_AFTER_ERROR_MS, type PoolEnvironment } from './environment.js';
import { report } from './report.js';

/** Settlements in one call at most: bounds the time one call holds the store. */
const SETTLE_BATCH_MAX = 500;

/**
 * While a call is under way, results are gathered for the next one; but so many are worth a call of their own, once:
 * a store that has answered one call finds the next one there already, and no time is lost between them.
 */
const WORTH_A_CALL = 16;
const CALLS_MAX = 2;

/** A result on its way to the store. */
export interface Result {
  readonly settlement: Settlement;
  /**
   * Told once; must not throw.
   * @param answer - the store's; undefined after `giveUp`: the lease expires then, and the job runs again.
   */
  answered(answer: SettleAnswer | undefined): void;
}

/**
 * Reports tries to the store, many in one call: what finishes in the same turn, and what finishes while a call is
 * under way. A call that failed is repeated with the same settlements until the store has taken them: the token makes
 * the repeat harmless. Each part of a store has calls of its own: one that does not answer holds up no result of another.
 */
export class Settler {
  readonly #environment: PoolEnvironment;
  readonly #parts = new Map<number, PartSettler>();
  #givenUp = false;

  /** @param environment - store, clock and logger count. */
  constructor(environment: PoolEnvironment) {
    this.#environment = environment;
  }

  /**
   * Takes a result and brings it to the store.
   * @param result - told what the store answered.
   */
  settle(result: Result): void {
    if (this.#givenUp) {
      result.answered(undefined);
      return;
    }
    const part = this.#environment.store.leases.partOf?.(result.settlement.key) ?? 0;
    let settler = this.#parts.get(part);
    if (!settler) {
      settler = new PartSettler(this.#environment);
      this.#parts.set(part, settler);
    }
    settler.settle(result);
  }

  /** Waits for no answer any more, not even of a call that hangs; what is unanswered is answered with undefined. */
  giveUp(): void {
    this.#givenUp = true;
    for (const settler of this.#parts.values()) settler.giveUp();
  }
}

/** Reports tries to one part of the store. */
class PartSettler {
  readonly #environment: PoolEnvironment;
  readonly #givenUp = new AbortController();
  /** Handed in, not sent. */
  #queue: Result[] = [];
  /** Sent, not answered; two at most, and no Set, see Line. */
  #calls: readonly (readonly Result[])[] = [];
  #scheduled = false;

  constructor(environment: PoolEnvironment) {
    this.#environment = environment;
  }

  settle(result: Result): void {
    this.#queue.push(result);
    if (this.#scheduled || !this.#isCallDue()) return;
    // What finishes in the same turn goes with it.
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#sendDue();
    });
  }

  giveUp(): void {
    this.#givenUp.abort();
    const unanswered = [...this.#calls, this.#queue].flat();
    this.#calls = [];
    this.#queue = [];
    if (unanswered.length === 0) return;
    const jobs = unanswered.map(({ settlement }) => settlement.jobId);
    const message = 'Results could not be stored in time; the leases expire and the jobs run again';
    report(this.#environment.log, 'error', { jobs }, message);
    for (const result of unanswered) result.answered(undefined);
  }

  #isCallDue(): boolean {
    const { length } = this.#calls;
    return this.#queue.length >= (length === 0 ? 1 : WORTH_A_CALL) && length < CALLS_MAX;
  }

  #sendDue(): void {
    while (this.#isCallDue()) void this.#call(this.#queue.splice(0, SETTLE_BATCH_MAX));
  }

  async #call(results: readonly Result[]): Promise<void> {
    this.#calls = [...this.#calls, results];
    const answers = await this.#send(results.map(({ settlement }) => settlement));
    // Given up meanwhile: they have been told.
    if (!this.#calls.includes(results)) return;
    this.#calls = this.#calls.filter((other) => other !== results);
    for (let index = 0; index < results.length; index++) results[index]?.answered(answers?.[index]);
    this.#sendDue();
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
