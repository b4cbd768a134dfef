/** Durations of the last operations that ended, from which the next are foretold. */
const KEPT = 64;
const QUANTILE = 0.9;

/** What is known of one route. */
export interface RouteDurations {
  readonly recent: readonly number[];
}

/**
 * Adds a duration; the oldest is forgotten.
 * @param known - what was known; undefined for a route seen for the first time.
 */
export const withDuration = (known: RouteDurations | undefined, durationMs: number): RouteDurations => ({
  recent: [...(known?.recent ?? []), durationMs].slice(-KEPT),
});

/**
 * How long an operation of this route will take in all, most likely.
 * @param known - undefined: nothing.
 */
export function foretellMs(known: RouteDurations | undefined, unknownMs: number): number {
  if (!known || known.recent.length === 0) return unknownMs;
  const sorted = [...known.recent].sort((one, other) => one - other);
  return sorted[Math.ceil(QUANTILE * sorted.length) - 1] ?? unknownMs;
}
