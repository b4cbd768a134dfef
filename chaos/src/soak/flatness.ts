/** A value at a time. */
export interface Point {
  readonly atMs: number;
  readonly value: number;
}

/** What a line of values may do and still be called flat. */
export interface FlatBound {
  /** Growth in an hour, in the unit of the values. */
  readonly perHourMax: number;
  /** The end against the middle of the warm part. */
  readonly endRatioMax: number;
}

/** Whether a line is flat, with its numbers. */
export interface Flatness {
  readonly held: boolean;
  readonly perHour: number;
  readonly endRatio: number;
}

const HOUR_MS = 3_600_000;
/** From so many values on there is something to say. */
const POINTS_MIN = 12;
/** Of a line: what comes before is warming up. */
const WARM_FROM = 1 / 3;
/** Of a line: how it ends. */
const END_FROM = 0.9;
/** Slopes are taken between so many points at most: their number grows with the square. */
const SLOPE_POINTS_MAX = 200;

/**
 * The middle value.
 * @param values - in any order; NaN of none.
 */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * The Theil–Sen slope: the median of the slopes of all pairs. A third of the points may be anything (a collection that is late, a burst).
 * @returns growth per hour; 0 where there are no two times.
 */
export function slopePerHour(points: readonly Point[]): number {
  const step = Math.max(1, Math.ceil(points.length / SLOPE_POINTS_MAX));
  const few = points.filter((_, index) => index % step === 0);
  const slopes: number[] = [];
  few.forEach((a, index) => {
    for (const b of few.slice(index + 1))
      if (b.atMs > a.atMs) slopes.push((b.value - a.value) / (b.atMs - a.atMs));
  });
  return slopes.length === 0 ? 0 : median(slopes) * HOUR_MS;
}

/**
 * Whether a line has levelled off: over its second half it does not climb, and it ends where its warm part was.
 * @returns undefined when there are too few of them.
 */
export function flatness(points: readonly Point[], bound: FlatBound): Flatness | undefined {
  if (points.length < POINTS_MIN) return undefined;
  const from = (share: number) => points.slice(Math.floor(points.length * share));
  const middleOf = (some: readonly Point[]) => median(some.map(({ value }) => value));
  const perHour = slopePerHour(from(0.5));
  const endRatio = middleOf(from(END_FROM)) / middleOf(from(WARM_FROM));
  const held = perHour <= bound.perHourMax && endRatio <= bound.endRatioMax;
  return { held, perHour, endRatio };
}

/** Growth of a counter from look to look, per second. */
export const ratesOf = (points: readonly Point[]): readonly Point[] =>
  points.slice(1).map(({ atMs, value }, index) => {
    const before = points[index] as Point;
    return { atMs, value: ((value - before.value) * 1000) / (atMs - before.atMs) };
  });

/** The end of a line of rates against its middle: the median of the last third over that of the second. */
export function lastThirdRatio(rates: readonly Point[]): number {
  const part = (from: number, to: number) =>
    median(
      rates.slice(Math.floor(rates.length * from), Math.floor(rates.length * to)).map(({ value }) => value),
    );
  return part(2 / 3, 1) / part(1 / 3, 2 / 3);
}
