import { AbortError } from '@millrace/async-utils';
import type { CancelTimer, Clock } from '@millrace/foundation';

/** Does the work once. Stops when its signal aborts. */
export type Work<T> = (signal: AbortSignal) => PromiseLike<T> | T;

/** The result of one attempt. */
type AttemptResult<T> =
  | { readonly kind: 'value'; readonly value: T; readonly failed: boolean }
  | { readonly kind: 'thrown'; readonly error: unknown; readonly failed: true };

/** The result of a call. `cut`: the signal aborted first. */
export type Verdict<T> = AttemptResult<T> | { readonly kind: 'cut' };

/** Options of a call. */
export interface Race<T> {
  readonly clock: Clock;
  /** Starts further attempts while there is no result (none). */
  readonly hedge: { readonly delayMs: number; readonly hedgesMax: number } | undefined;
  /** Reports whether a value is a failure. */
  isFailure(value: T): boolean;
  /** Ends all attempts. */
  readonly signal: AbortSignal;
}

/**
 * Does the work, and starts it again beside the first attempt while there is no result. The first attempt that succeeds
 * wins and the signals of all others abort. If all attempts have failed, the first failure is the result: a hedge is no
 * retry, so none starts after a failure.
 * @param work - begins synchronously.
 * @returns the result. Never rejects, and does not wait for work that ignores its signal.
 */
export function runHedged<T>(
  work: Work<T>,
  { clock, hedge, isFailure, signal }: Race<T>,
): Promise<Verdict<T>> {
  return new Promise((resolve) => {
    const running = new Set<AbortController>();
    let hedgesLeft = hedge?.hedgesMax ?? 0;
    let firstFailure: AttemptResult<T> | undefined;
    let cancelTimer: CancelTimer | undefined;
    let over = false;

    const end = (verdict: Verdict<T>, reason: () => unknown) => {
      over = true;
      cancelTimer?.();
      signal.removeEventListener('abort', cut);
      resolve(verdict);
      for (const loser of running) loser.abort(reason());
    };
    const cut = () => end({ kind: 'cut' }, () => signal.reason);

    const settle = (controller: AbortController, verdict: AttemptResult<T>) => {
      if (over) return;
      running.delete(controller);
      if (!verdict.failed) {
        end(verdict, lostTheRace);
        return;
      }
      firstFailure ??= verdict;
      if (running.size === 0) end(firstFailure, lostTheRace);
    };

    const begin = () => {
      const controller = new AbortController();
      running.add(controller);
      if (hedge && hedgesLeft > 0) {
        hedgesLeft -= 1;
        cancelTimer = clock.setTimer(hedge.delayMs, begin);
      }
      void verdictOf(work, isFailure, controller.signal).then((verdict) => settle(controller, verdict));
    };

    signal.addEventListener('abort', cut, { once: true });
    begin();
  });
}

const lostTheRace = () => new AbortError('Another attempt of the same call has ended it');

async function verdictOf<T>(
  work: Work<T>,
  isFailure: (value: T) => boolean,
  signal: AbortSignal,
): Promise<AttemptResult<T>> {
  try {
    const value = await work(signal);
    return { kind: 'value', value, failed: isFailure(value) };
  } catch (error) {
    return { kind: 'thrown', error, failed: true };
  }
}
