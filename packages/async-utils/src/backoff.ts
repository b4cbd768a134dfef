import { checkMs, checkShare, refuse } from './checks.js';

/**
 * How long to wait before the next try: `'exponential'` (100 ms, ×2, at most 10 s), `'linear'` (always 1 s), or a
 * function of the number of the try that failed (from 1) and its error.
 */
export type BackoffStrategy = 'exponential' | 'linear' | ((attempt: number, error: unknown) => number);

/** Shortens a delay at random by up to `share` of it, so that callers that failed together do not return together. */
export const jittered = (delayMs: number, share: number): number =>
  share ? delayMs * (1 - share * Math.random()) : delayMs;

/**
 * Builds a back-off that multiplies the delay after every failed try.
 * @param options - `baseMs` (100) first delay, `multiplier` (2), `maxMs` (10,000) cap, `jitter` (0) share of each
 * delay that is random.
 * @returns a strategy for `retry`.
 * @throws RangeError for a value out of range.
 */
export function exponentialBackoff(
  options: {
    baseMs?: number | undefined;
    maxMs?: number | undefined;
    multiplier?: number | undefined;
    jitter?: number | undefined;
  } = {},
): (attempt: number) => number {
  const { baseMs = 100, maxMs = 10_000, multiplier = 2, jitter = 0 } = options;
  checkMs('baseMs', baseMs);
  checkMs('maxMs', maxMs);
  if (!(typeof multiplier === 'number' && multiplier >= 1 && multiplier < Infinity))
    refuse('multiplier', 'a finite number ≥ 1', multiplier);
  checkShare('jitter', jitter);
  // The power becomes Infinity, and 0 times that is no number.
  return (attempt) => baseMs && jittered(Math.min(maxMs, baseMs * multiplier ** (attempt - 1)), jitter);
}

/**
 * Builds a back-off that always waits the same time.
 * @param options - `delayMs` (1,000).
 * @returns a strategy for `retry`.
 * @throws RangeError for a value out of range.
 */
export function linearBackoff(options: { delayMs?: number | undefined } = {}): (attempt: number) => number {
  const { delayMs = 1000 } = options;
  checkMs('delayMs', delayMs);
  return () => delayMs;
}

const exponential = exponentialBackoff();
const linear = linearBackoff();

/** The function behind a strategy; RangeError for a name that does not exist. */
export function backoffFunction(strategy: BackoffStrategy): (attempt: number, error: unknown) => number {
  if (typeof strategy === 'function') return strategy;
  if (strategy === 'exponential') return exponential;
  if (strategy === 'linear') return linear;
  return refuse('backoff', "'exponential', 'linear' or a function", strategy);
}
