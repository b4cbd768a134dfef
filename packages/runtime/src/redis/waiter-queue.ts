import { onAbort } from '@millrace/async-utils';
import { type CancelTimer, type Clock, type Linked, LinkedList } from '@millrace/foundation';
import { ERRORS } from '@millrace/redis';
import { abortError } from '../errors.js';

/** The end of a wait that is not served. */
export interface WaitLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/** One waiting caller. */
export interface Caller<V, D> extends Linked<Caller<V, D>> {
  readonly data: D;
  /** True while a call that decides about it is in progress. It cannot leave before the reply: its item may be stored already. */
  bound: boolean;
  /** True once Redis has replied that it has to wait. */
  answered: boolean;
  /** The reason to leave, which it does as soon as it may. */
  ending: 'expired' | 'aborted' | undefined;
  readonly limits: WaitLimits;
  readonly resolve: (value: V) => void;
  readonly reject: (error: unknown) => void;
  cancelTimer: CancelTimer | undefined;
  offAbort: (() => void) | undefined;
}

/** The limits of a WaiterQueue and its reaction to them. */
export interface WaiterQueueOptions<V, D> {
  readonly clock: Clock;
  /** Longest wait for the first reply of Redis, even if the caller's own timeout is shorter. */
  readonly callTimeoutMs: number;
  /** Settles a caller whose time is up after Redis had nothing for it. */
  readonly onTimeout: (caller: Caller<V, D>) => void;
}

/**
 * Callers that wait for Redis, first come, first served, each with its own timeout.
 *
 * ```
 *   waiting ──served──▶ settled
 *   waiting ──timeout──▶ onTimeout, if Redis has answered it once; else REDIS_UNAVAILABLE after callTimeoutMs
 *   waiting ──signal──▶ AbortError
 *   bound   ──either──▶ after the reply of the call in progress, or callTimeoutMs
 * ```
 */
export class WaiterQueue<V, D = undefined> {
  readonly #options: WaiterQueueOptions<V, D>;
  readonly #callers = new LinkedList<Caller<V, D>>();
  #lastFailure: unknown;

  constructor(options: WaiterQueueOptions<V, D>) {
    this.#options = options;
  }

  get size(): number {
    return this.#callers.size;
  }

  /** Waits behind all others. */
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
        previous: undefined,
        next: undefined,
      };
      this.#callers.push(caller);
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

  /** All callers, in order. */
  all(): Caller<V, D>[] {
    return [...this.#callers];
  }

  /** The caller that has waited longest. */
  first(): Caller<V, D> | undefined {
    return this.#callers.first;
  }

  /** Serves a caller, unless it has left. */
  settle(caller: Caller<V, D>, value: V): void {
    if (this.#leave(caller)) caller.resolve(value);
  }

  /** Rejects a caller, unless it has left. */
  refuse(caller: Caller<V, D>, error: unknown): void {
    if (this.#leave(caller)) caller.reject(error);
  }

  /** Redis replied that these have to wait. Those with a reason to leave do so now. */
  answer(callers: readonly Caller<V, D>[]): void {
    for (const caller of callers) {
      caller.answered = true;
      caller.bound = false;
      if (caller.ending) this.#end(caller);
    }
  }

  /** Redis did not reply to these. Those with a reason to leave do so with the failure. */
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
    // A caller without a reply has waited for the call only: its own timeout counts towards the call's.
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
    return this.#callers.remove(caller);
  }

  #unavailable(): Error {
    const details = { operation: 'the queue', reason: 'no answer in time', code: 'REDIS_TIMEOUT' };
    return ERRORS.create('REDIS_UNAVAILABLE', details, { cause: this.#lastFailure });
  }
}
