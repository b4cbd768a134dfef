import type { BackoffStrategy } from '@millrace/foundation';

/** A failed try, and how its task wants to be tried again. */
export interface RetryFacts {
  /** The number of the try that failed, from 1. */
  readonly attempt: number;
  readonly strategy: BackoffStrategy;
  /** The first delay of `exponential` and `linear`. */
  readonly backoffMs: number;
  /** Share of the delay that is random, 0 to 1. */
  readonly jitter: number;
  /** The longest delay there is. */
  readonly maxMs: number;
  /** Of [0, 1). */
  readonly random: number;
  /** What the try failed with, for a strategy that is a function. */
  readonly error?: unknown;
}

/**
 * How long a task waits for its next try. Jitter shortens the delay, so that tasks that failed together do not all
 * return together.
 * @returns whole milliseconds, from 0 to `maxMs`.
 */
export function retryDelayMs(facts: RetryFacts): number {
  const { jitter, maxMs, random } = facts;
  return Math.floor(Math.min(maxMs, strategyDelayMs(facts)) * (1 - jitter * random));
}

function strategyDelayMs({ attempt, strategy, backoffMs, error }: RetryFacts): number {
  if (strategy === 'linear') return backoffMs * attempt;
  if (typeof strategy === 'function') {
    const asked = answerOf(() => strategy(attempt, error));
    if (Number.isFinite(asked) && (asked as number) >= 0) return asked as number;
  }
  // Beyond 2^52 any delay is past its maximum; without the bound 0 × Infinity would come to NaN.
  return backoffMs * 2 ** Math.min(52, attempt - 1);
}

/** A user's back-off that throws must not lose the outcome of the try. */
function answerOf(ask: () => unknown): unknown {
  try {
    return ask();
  } catch {
    return undefined;
  }
}
