/** Number of ended operations from which the duration of the next is estimated. */
const KEPT = 64;
const QUANTILE = 0.9;

/** The latest durations of a route. */
export interface RouteDurations {
  readonly recent: readonly number[];
}

/** Adds a duration and drops the oldest. */
export const withDuration = (known: RouteDurations | undefined, durationMs: number): RouteDurations => ({
  recent: [...(known?.recent ?? []), durationMs].slice(-KEPT),
});

/** Estimates the duration of an operation, from its acceptance to its end. */
export function estimatedMs(known: RouteDurations | undefined, unknownMs: number): number {
  if (!known || known.recent.length === 0) return unknownMs;
  const sorted = [...known.recent].sort((one, other) => one - other);
  return sorted[Math.ceil(QUANTILE * sorted.length) - 1] ?? unknownMs;
}
