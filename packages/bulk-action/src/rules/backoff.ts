/** The delays of the section `backpressure` that a back-off grows between. */
export interface BackoffBounds {
  readonly defaultBackoffMs: number;
  readonly maxBackoffMs: number;
}

/** The share of a back-off that is random: those who failed together do not all return together. */
export const DEFAULT_JITTER = 0.5;

/**
 * Twice as long after every failure, up to the maximum; no jitter yet. Doubling in steps instead of a power: it cannot
 * overflow, and Lua computes the same number.
 * @param failuresBefore - failures before the one that is waited for; 0 the first time.
 * @param config - first delay and longest one.
 */
export function exponentialMs(failuresBefore: number, config: BackoffBounds): number {
  const { defaultBackoffMs, maxBackoffMs } = config;
  let delay = Math.min(maxBackoffMs, defaultBackoffMs);
  for (let step = 0; step < failuresBefore && delay > 0 && delay < maxBackoffMs; step++) {
    delay = Math.min(maxBackoffMs, delay * 2);
  }
  return delay;
}

/**
 * Shortens a delay at random, to whole milliseconds.
 * @param delayMs - the longest it may become.
 * @param share - the part of it that is random, 0 to 1.
 * @param random - of [0, 1).
 */
export const jitteredMs = (delayMs: number, share: number, random: number): number =>
  Math.floor(delayMs * (1 - share * random));

/**
 * How long a job waits after a failed try: min(max, default × 2^failuresBefore) × (1 − 0.5 × random).
 * @param failuresBefore - retries spent before this failure.
 * @param config - first delay and longest one.
 * @param random - of [0, 1).
 * @returns whole milliseconds.
 */
export const errorBackoffMs = (failuresBefore: number, config: BackoffBounds, random: number): number =>
  jitteredMs(exponentialMs(failuresBefore, config), DEFAULT_JITTER, random);

/**
 * How long a job waits after its lease has expired; grows like that of an error.
 * @param orphanCount - expired leases of the job, this one included.
 * @param config - first delay and longest one.
 * @param random - of [0, 1).
 * @returns whole milliseconds.
 */
export const orphanBackoffMs = (orphanCount: number, config: BackoffBounds, random: number): number =>
  errorBackoffMs(orphanCount - 1, config, random);
