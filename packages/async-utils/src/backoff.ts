import { checkMs, checkShare, refuse } from './checks.js';

/**
 * The delay before the next attempt: `'exponential'` (100 ms, ×2, at most 10 s), `'linear'` (always 1 s), or a function of
 * the number of the attempt that failed (from 1) and its error.
 */
export type BackoffStrategy = 'exponential' | 'linear' | ((attempt: number, error: unknown) => number);

/** Shortens a delay at random by up to `share` of it, so that callers that failed together do not retry together. */
export const jittered = (delayMs: number, share: number): number =>
  share ? delayMs * (1 - share * Math.random()) : delayMs;

/**
 * Makes a strategy for `retry` that multiplies the delay after every failed attempt.
 * @param options - `baseMs` first delay (100), `multiplier` (2), `maxMs` longest delay (10,000), `jitter` share of each
 * delay that is random (0).
 * @throws RangeError for a value out of range.
 */
export function exponentialBackoff(
  options: { [K in 'baseMs' | 'maxMs' | 'multiplier' | 'jitter']?: number | undefined } = {},
): (attempt: number) => number {
  const { baseMs = 100, maxMs = 10_000, multiplier = 2, jitter = 0 } = options;
  checkMs('baseMs', baseMs);
  checkMs('maxMs', maxMs);
  if (!(typeof multiplier === 'number' && multiplier >= 1 && multiplier < Infinity))
    refuse('multiplier', 'a finite number ≥ 1', multiplier);
  checkShare('jitter', jitter);
  // The power grows to Infinity, and 0 × Infinity is NaN.
  return (attempt) => baseMs && jittered(Math.min(maxMs, baseMs * multiplier ** (attempt - 1)), jitter);
}

/** Makes a strategy for `retry` that always waits `delayMs` (1,000). @throws RangeError for a value out of range. */
export function linearBackoff(options: { delayMs?: number | undefined } = {}): (attempt: number) => number {
  const { delayMs = 1000 } = options;
  checkMs('delayMs', delayMs);
  return () => delayMs;
}

const STRATEGIES = { exponential: exponentialBackoff(), linear: linearBackoff() };

/** Returns the function of a strategy. @throws RangeError for an unknown name. */
export function backoffFunction(strategy: BackoffStrategy): (attempt: number, error: unknown) => number {
  if (typeof strategy === 'function') return strategy;
  if (Object.hasOwn(STRATEGIES, strategy)) return STRATEGIES[strategy];
  return refuse('backoff', "'exponential', 'linear' or a function", strategy);
}
