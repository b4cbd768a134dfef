import type { DurationStatistics } from '../model.js';

/**
 * Upper bounds of the duration buckets in milliseconds, at most 1.5 × apart: so far at most is a percentile from the
 * exact one. A fixed table, not a logarithm: Lua and JavaScript must agree on every bucket.
 */
export const DURATION_BOUNDS_MS: readonly number[] = Object.freeze([
  1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072,
  4096, 6144, 8192, 12_288, 16_384, 24_576, 32_768, 49_152, 65_536, 98_304, 131_072, 196_608, 262_144,
  393_216, 524_288, 786_432, 1_048_576, 1_572_864, 2_097_152, 3_145_728, 4_194_304,
]);

/** Durations counted; O(1) to add. */
export interface Histogram {
  count: number;
  sum: number;
  min: number;
  max: number;
  /** One more than bounds: the last is beyond them. */
  readonly buckets: number[];
}

/** An empty histogram. */
export const newHistogram = (): Histogram => ({ count: 0, sum: 0, min: 0, max: 0, buckets: [] });

/**
 * The bucket of a duration.
 * @param ms - ≥ 0.
 */
export function bucketOf(ms: number): number {
  let low = 0;
  let high = DURATION_BOUNDS_MS.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((DURATION_BOUNDS_MS[middle] as number) < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Counts one duration.
 * @param histogram - changed.
 * @param ms - ≥ 0.
 */
export function recordDuration(histogram: Histogram, ms: number): void {
  const bucket = bucketOf(ms);
  while (histogram.buckets.length <= bucket) histogram.buckets.push(0);
  histogram.buckets[bucket] = (histogram.buckets[bucket] ?? 0) + 1;
  histogram.min = histogram.count === 0 ? ms : Math.min(histogram.min, ms);
  histogram.max = Math.max(histogram.max, ms);
  histogram.count += 1;
  histogram.sum += ms;
}

/**
 * Count, sum, extremes and percentiles.
 * @param histogram - looked at only.
 */
export const durationStatistics = (histogram: Histogram): DurationStatistics => ({
  count: histogram.count,
  sum: histogram.sum,
  min: histogram.min,
  max: histogram.max,
  p50: percentile(histogram, 0.5),
  p95: percentile(histogram, 0.95),
  p99: percentile(histogram, 0.99),
});

/** Linear inside the bucket, never outside what was seen. */
function percentile({ count, buckets, min, max }: Histogram, q: number): number {
  const rank = q * count;
  let before = 0;
  for (let index = 0; index < buckets.length; index++) {
    const inside = buckets[index] as number;
    if (inside > 0 && before + inside >= rank) {
      const low = DURATION_BOUNDS_MS[index - 1] ?? 0;
      const high = DURATION_BOUNDS_MS[index] ?? max;
      const value = low + (high - low) * ((rank - before) / inside);
      return Math.min(max, Math.max(min, value));
    }
    before += inside;
  }
  return max;
}
