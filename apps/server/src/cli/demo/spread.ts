/** Of several durations, in milliseconds. */
export interface Spread {
  /** Half of them are not above it. */
  readonly median: number;
  readonly max: number;
}

/**
 * The middle and the end of several durations.
 * @param durations - null: not known.
 * @returns null when none is known.
 */
export function spreadOf(durations: readonly (number | null)[]): Spread | null {
  const known = durations.filter((ms) => ms !== null).sort((a, b) => a - b);
  const median = known[Math.ceil(known.length / 2) - 1];
  return median === undefined ? null : { median, max: Math.max(...known) };
}
