import type { CancelTimer, Clock, Logger } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { stoppedError } from '../failure.js';

interface Waiter {
  grant(): void;
  refuse(error: unknown): void;
}

/** What the turns need to know. */
export interface TurnOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slowTransactionMs: number;
}

/** Lets callers use the one session of PGlite one after the other, first come, first served. */
export class Turns {
  readonly #options: TurnOptions;
  readonly #waiters = new Set<Waiter>();
  #taken = false;
  #stopped = false;
  #isSlow = false;
  #isWarned = false;
  #cancelWatch: CancelTimer = () => {};
  #tellIdle: () => void = () => {};

  constructor(options: TurnOptions) {
    this.#options = options;
  }

  /**
   * Waits for the turn.
   * @throws DATABASE_TIMEOUT; SERVICE_STOPPED; the signal's reason.
   */
  take(deadline: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (this.#stopped) return Promise.reject(stoppedError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#taken) {
      this.#begin();
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leftMs = Math.max(0, deadline - clock.monotonicMs());
      const settled = () => {
        this.#waiters.delete(waiter);
        cancel();
        signal?.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        grant: () => {
          settled();
          resolve();
        },
        refuse: (error) => {
          settled();
          reject(error);
        },
      };
      const onAbort = () => waiter.refuse(signal?.reason);
      const cancel = clock.setTimer(leftMs, () => {
        const what = 'The wait behind another transaction, which holds the only session,';
        waiter.refuse(ERRORS.create('DATABASE_TIMEOUT', { what, timeoutMs: Math.round(leftMs) }));
      });
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      this.#warn();
    });
  }

  /** Hands the turn to the one that has waited longest. */
  give(): void {
    this.#cancelWatch();
    const [next] = this.#waiters;
    if (next) {
      this.#begin();
      next.grant();
      return;
    }
    this.#taken = false;
    this.#tellIdle();
  }

  /** Refuses everybody who waits; resolves when nobody has the turn any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const waiter of [...this.#waiters]) waiter.refuse(stoppedError());
    if (this.#taken) await new Promise<void>((resolve) => (this.#tellIdle = resolve));
  }

  #begin(): void {
    const { clock, slowTransactionMs } = this.#options;
    this.#taken = true;
    this.#isSlow = false;
    this.#isWarned = false;
    this.#cancelWatch = clock.setTimer(
      slowTransactionMs,
      () => {
        this.#isSlow = true;
        this.#warn();
      },
      { unref: true },
    );
  }

  #warn(): void {
    if (!this.#isSlow || this.#isWarned || this.#waiters.size === 0) return;
    this.#isWarned = true;
    const { logger, slowTransactionMs } = this.#options;
    logger.warn(
      { waiting: this.#waiters.size, slowTransactionMs },
      'everybody waits behind one transaction: PGlite has a single session',
    );
  }
}
