import { AbortError } from '@millrace/async-utils';
import type { CancelTimer, Clock } from '@millrace/foundation';

/** Does the work once; stops when its signal aborts. */
export type Work<T> = (signal: AbortSignal) => PromiseLike<T> | T;

/** What came of one try. */
type TryVerdict<T> =
  | { readonly kind: 'value'; readonly value: T; readonly failed: boolean }
  | { readonly kind: 'thrown'; readonly error: unknown; readonly failed: true };

/** What came of a call; `cut`: the signal aborted before there was an answer. */
export type Verdict<T> = TryVerdict<T> | { readonly kind: 'cut' };

/** How a call is tried. */
export interface Race<T> {
  readonly clock: Clock;
  /** Begins it again while there is no answer; once only without. */
  readonly hedge: { readonly delayMs: number; readonly hedgesMax: number } | undefined;
  /** Whether a value is the failure of a try. */
  isFailure(value: T): boolean;
  /** Ends all tries. */
  readonly signal: AbortSignal;
}

/**
 * Does the work, and does it again beside the first while there is no answer. The first try that goes well wins, and the
 * signals of all others abort. When all that were begun have failed, the first failure is the answer: a hedge is no retry,
 * so none begins for a try that failed.
 * @param work - begins at once, in this very call.
 * @returns what came of it; never rejects, and does not wait for work that ignores its signal.
 */
export function raceTries<T>(
  work: Work<T>,
  { clock, hedge, isFailure, signal }: Race<T>,
): Promise<Verdict<T>> {
  return new Promise((resolve) => {
    const running = new Set<AbortController>();
    let hedgesLeft = hedge?.hedgesMax ?? 0;
    let firstFailure: TryVerdict<T> | undefined;
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

    const settle = (controller: AbortController, verdict: TryVerdict<T>) => {
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

const lostTheRace = () => new AbortError('Another try of the same call has answered');

async function verdictOf<T>(
  work: Work<T>,
  isFailure: (value: T) => boolean,
  signal: AbortSignal,
): Promise<TryVerdict<T>> {
  try {
    const value = await work(signal);
    return { kind: 'value', value, failed: isFailure(value) };
  } catch (error) {
    return { kind: 'thrown', error, failed: true };
  }
}
