import type { CancelTimer, Clock } from '@millrace/foundation';
import { ERRORS } from '@millrace/redis';
import { abortError, onAbort } from '../on-abort.js';

/** When a wait ends by itself. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One caller in line. */
export interface Caller<V, D> {
  readonly data: D;
  /** A call under way decides about it, so it cannot leave before the answer: its item may be in the queue already. */
  bound: boolean;
  /** Redis has said at least once, since it came, that it has to wait. */
  answered: boolean;
  /** It wants to leave, and does as soon as it may. */
  ending: 'expired' | 'aborted' | undefined;
  readonly limits: WaitLimits;
  readonly resolve: (value: V) => void;
  readonly reject: (error: unknown) => void;
  cancelTimer: CancelTimer | undefined;
  offAbort: (() => void) | undefined;
}

/** What a line needs to know. */
export interface LineOptions<V, D> {
  readonly clock: Clock;
  /** How long Redis has for a first answer, also when the caller's own time is shorter. */
  readonly callTimeoutMs: number;
  /** Settles one whose time is up and who knows that there was nothing for it. */
  readonly onTimeout: (caller: Caller<V, D>) => void;
}

/**
 * Callers that wait for Redis, first come first served, each with its own patience.
 *
 * ```
 *   waiting ──served──▶ settled
 *   waiting ──its time is up──▶ onTimeout, if Redis has answered it once; else REDIS_UNAVAILABLE after callTimeoutMs
 *   waiting ──its signal──▶ AbortError
 *   bound   ──either──▶ after the answer of the call under way, or callTimeoutMs
 * ```
 */
export class Line<V, D = undefined> {
  readonly #options: LineOptions<V, D>;
  readonly #callers = new Set<Caller<V, D>>();
  #lastFailure: unknown;

  constructor(options: LineOptions<V, D>) {
    this.#options = options;
  }

  get size(): number {
    return this.#callers.size;
  }

  /** Joins the end of the line. */
  join(data: D, limits: WaitLimits): Promise<V> {
    return new Promise((resolve, reject) => {
      const caller: Caller<V, D> = {
        data,
        bound: false,
        answered: false,
        ending: undefined,
        limits,
        resolve,
        reject,
        cancelTimer: undefined,
        offAbort: undefined,
      };
      this.#callers.add(caller);
      const { timeoutMs, signal } = limits;
      if (signal) caller.offAbort = onAbort(signal, () => this.#wantsToLeave(caller, 'aborted'));
      if (timeoutMs === 0) this.#wantsToLeave(caller, 'expired');
      else if (timeoutMs !== Infinity) {
        caller.cancelTimer = this.#options.clock.setTimer(timeoutMs, () =>
          this.#wantsToLeave(caller, 'expired'),
        );
      }
    });
  }

  has(caller: Caller<V, D>): boolean {
    return this.#callers.has(caller);
  }

  /** Everybody in line, in order. */
  all(): Caller<V, D>[] {
    return [...this.#callers];
  }

  /** The one that has waited longest. */
  first(): Caller<V, D> | undefined {
    const [caller] = this.#callers;
    return caller;
  }

  /** Serves one; does nothing when it has left. */
  settle(caller: Caller<V, D>, value: V): void {
    if (this.#leave(caller)) caller.resolve(value);
  }

  /** Refuses one; does nothing when it has left. */
  refuse(caller: Caller<V, D>, error: unknown): void {
    if (this.#leave(caller)) caller.reject(error);
  }

  /** Redis answered these that they have to wait; who wants to leave may do so now. */
  answer(callers: readonly Caller<V, D>[]): void {
    for (const caller of callers) {
      caller.answered = true;
      caller.bound = false;
      if (caller.ending) this.#end(caller);
    }
  }

  /** Redis did not answer these; who wants to leave does so with the failure. */
  fail(callers: readonly Caller<V, D>[], error: unknown): void {
    this.#lastFailure = error;
    for (const caller of callers) {
      if (caller.ending === 'expired') this.refuse(caller, error);
      else if (caller.ending) this.#end(caller);
    }
  }

  #wantsToLeave(caller: Caller<V, D>, why: 'expired' | 'aborted'): void {
    if (!this.#callers.has(caller) || caller.ending === 'aborted') return;
    caller.ending = why;
    if (!caller.bound && (caller.answered || why === 'aborted')) {
      this.#end(caller);
      return;
    }
    const { clock, callTimeoutMs } = this.#options;
    const { timeoutMs } = caller.limits;
    // One who has had no answer has waited for nothing but the call: its own time counts towards the call's.
    const graceMs = caller.answered || why === 'aborted' ? callTimeoutMs : callTimeoutMs - timeoutMs;
    caller.cancelTimer?.();
    caller.cancelTimer = clock.setTimer(Math.max(0, graceMs), () => {
      if (why === 'aborted') this.#end(caller);
      else this.refuse(caller, this.#unavailable());
    });
  }

  #end(caller: Caller<V, D>): void {
    const { signal } = caller.limits;
    if (caller.ending === 'aborted' && signal) this.refuse(caller, abortError(signal));
    else if (this.#leave(caller)) this.#options.onTimeout(caller);
  }

  #leave(caller: Caller<V, D>): boolean {
    caller.cancelTimer?.();
    caller.offAbort?.();
    return this.#callers.delete(caller);
  }

  #unavailable(): Error {
    const details = { operation: 'the queue', reason: 'no answer in time', code: 'REDIS_TIMEOUT' };
    return ERRORS.create('REDIS_UNAVAILABLE', details, { cause: this.#lastFailure });
  }
}
