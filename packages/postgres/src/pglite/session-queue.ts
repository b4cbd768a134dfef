import type { CancelTimer } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { stoppedError } from '../failure.js';
import type { ResolvedPgliteDatabaseOptions } from './options.js';

interface Waiter {
  grant(): void;
  refuse(error: unknown): void;
}

/** Grants the one session of PGlite to one caller at a time, first come, first served. */
export class SessionQueue {
  readonly #options: ResolvedPgliteDatabaseOptions;
  readonly #waiters = new Set<Waiter>();
  #isTaken = false;
  #isStopped = false;
  #isSlow = false;
  #isWarned = false;
  #cancelWatch: CancelTimer = () => {};
  #onIdle: () => void = () => {};

  constructor(options: ResolvedPgliteDatabaseOptions) {
    this.#options = options;
  }

  /**
   * Waits for the session.
   * @throws DATABASE_TIMEOUT; SERVICE_STOPPED; the signal's reason.
   */
  take(deadline: number, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (this.#isStopped) return Promise.reject(stoppedError());
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#isTaken) {
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

  /** Hands the session to the caller that has waited longest. */
  release(): void {
    this.#cancelWatch();
    const [next] = this.#waiters;
    if (next) {
      this.#begin();
      next.grant();
      return;
    }
    this.#isTaken = false;
    this.#onIdle();
  }

  /** Refuses all waiting callers. Resolves when no caller has the session any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const waiter of [...this.#waiters]) waiter.refuse(stoppedError());
    if (this.#isTaken) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #begin(): void {
    const { clock, slowTransactionMs } = this.#options;
    this.#isTaken = true;
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
      'Calls wait behind a slow transaction: PGlite has a single session',
    );
  }
}
