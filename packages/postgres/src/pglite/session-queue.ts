import { beginWait, type CancelTimer, type Linked, LinkedList, type Wait } from '@millrace/foundation';
import { ERRORS } from '../errors.js';
import { stoppedError } from '../failure.js';
import type { ResolvedPgliteDatabaseOptions } from './options.js';

interface Waiter extends Linked<Waiter>, Wait<void> {}

/** Grants the one session of PGlite to one caller at a time, first come, first served. */
export class SessionQueue {
  readonly #options: ResolvedPgliteDatabaseOptions;
  readonly #waiters = new LinkedList<Waiter>();
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
  async take(deadline: number, signal?: AbortSignal): Promise<void> {
    if (this.#isStopped) throw stoppedError();
    signal?.throwIfAborted();
    if (!this.#isTaken) {
      this.#begin();
      return;
    }
    const { clock } = this.#options;
    const timeoutMs = Math.max(0, deadline - clock.monotonicMs());
    let waiter: Waiter;
    const refuse = (_: Wait<void>, error: unknown) => {
      // At once: a release in the same turn of the event loop must not grant the session to it.
      this.#waiters.remove(waiter);
      waiter.reject(error);
    };
    const onTimeout = (wait: Wait<void>) => {
      const what = 'The wait behind another transaction, which holds the only session,';
      refuse(wait, ERRORS.create('DATABASE_TIMEOUT', { what, timeoutMs: Math.round(timeoutMs) }));
    };
    await beginWait<void>({ clock, timeoutMs, signal, onTimeout, onAbort: refuse }, (wait) => {
      waiter = { ...wait, previous: undefined, next: undefined };
      this.#waiters.push(waiter);
      this.#warn();
    });
  }

  /** Hands the session to the caller that has waited longest. */
  release(): void {
    this.#cancelWatch();
    const next = this.#waiters.shift();
    if (next) {
      this.#begin();
      next.resolve();
      return;
    }
    this.#isTaken = false;
    this.#onIdle();
  }

  /** Refuses all waiting callers. Resolves when no caller has the session any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (let next = this.#waiters.shift(); next; next = this.#waiters.shift()) next.reject(stoppedError());
    if (this.#isTaken) await new Promise<void>((resolve) => (this.#onIdle = resolve));
  }

  #begin(): void {
    const { clock, slowTransactionMs } = this.#options;
    this.#isTaken = true;
    this.#isSlow = false;
    this.#isWarned = false;
    const onSlow = () => {
      this.#isSlow = true;
      this.#warn();
    };
    this.#cancelWatch = clock.setTimer(slowTransactionMs, onSlow, { unref: true });
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
