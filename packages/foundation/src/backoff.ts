/**
 * The delay before the next attempt: by name, or a function of the number of the failed attempt (from 1) and its error.
 * The same type as in async-utils.
 */
export type BackoffStrategy = 'exponential' | 'linear' | ((attempt: number, error: unknown) => number);

/** A failed attempt and the bounds of its delay. */
export interface FailedAttempt {
  readonly strategy: BackoffStrategy;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Passed to a strategy that is a function. */
  readonly error?: unknown;
  /** First delay of `exponential` and `linear`. */
  readonly baseMs: number;
  /** Longest delay. */
  readonly maxMs: number;
  /** Longest delay that a function may return (`maxMs`). */
  readonly customMaxMs?: number | undefined;
  /** Replaces a function that throws or returns no finite delay of at least 0 (`'exponential'`). */
  readonly fallback?: 'exponential' | 'linear' | undefined;
}

/**
 * Computes the delay before the next attempt, without jitter. `exponential` doubles the base with every attempt,
 * `linear` multiplies it by the attempt.
 */
export function backoffMs(failed: FailedAttempt): number {
  const { strategy, attempt, error, baseMs, maxMs, customMaxMs = maxMs, fallback = 'exponential' } = failed;
  let named = strategy;
  if (typeof strategy === 'function') {
    const customMs = delayFrom(strategy, attempt, error);
    if (customMs !== undefined) return Math.min(customMaxMs, customMs);
    named = fallback;
  }
  // A delay that doubled 52 times is above every maximum. An unbounded power would make 0 × Infinity = NaN.
  return Math.min(maxMs, baseMs * (named === 'linear' ? attempt : 2 ** Math.min(52, attempt - 1)));
}

/** Calls a user's function, which must not break the retry by throwing or by returning nonsense. */
function delayFrom(
  strategy: (attempt: number, error: unknown) => unknown,
  attempt: number,
  error: unknown,
): number | undefined {
  try {
    const delayMs = strategy(attempt, error);
    return Number.isFinite(delayMs) && (delayMs as number) >= 0 ? (delayMs as number) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Lengthens a delay by up to `share` of it, so that work that failed together does not return together. A negative share
 * shortens it. The result is not rounded.
 * @param random - of [0, 1).
 */
export const withJitter = (delayMs: number, share: number, random: number): number =>
  delayMs * (1 + share * random);
