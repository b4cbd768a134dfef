import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  bucketOf,
  DURATION_BOUNDS_MS,
  durationStatistics,
  type Histogram,
  newHistogram,
  recordDuration,
} from '../../src/rules/histogram.js';

const counted = (durations: readonly number[]): Histogram => {
  const histogram = newHistogram();
  for (const ms of durations) recordDuration(histogram, ms);
  return histogram;
};
/** The smallest value that at least q of all do not exceed. */
const exact = (durations: readonly number[], q: number): number => {
  const sorted = [...durations].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(q * sorted.length) - 1)] as number;
};
/** Spread over all orders of magnitude, from a millisecond to an hour. */
const spread = fc.double({ min: 0, max: 6.6, noNaN: true }).map((exponent) => 10 ** exponent);
const clustered = fc.integer({ min: 40, max: 60 });
const short = fc.double({ min: 0, max: 1, noNaN: true });
const percentiles = [
  ['p50', 0.5],
  ['p95', 0.95],
  ['p99', 0.99],
] as const;

describe('bulk-action BA-13: the histogram of durations', () => {
  it('bulk-action BA-13: percentiles are within 1.5 × of the exact ones, and within a millisecond up to one', () => {
    const durations = fc.oneof(
      fc.array(spread, { minLength: 1, maxLength: 400 }),
      fc.array(clustered, { minLength: 1, maxLength: 400 }),
      fc.array(fc.oneof(spread, clustered, short), { minLength: 1, maxLength: 50 }),
    );
    fc.assert(
      fc.property(durations, (values) => {
        const statistics = durationStatistics(counted(values));
        for (const [name, q] of percentiles) {
          const real = exact(values, q);
          const found = statistics[name];
          if (real <= 1) expect(Math.abs(found - real)).toBeLessThanOrEqual(1);
          else expect(Math.max(found / real, real / found)).toBeLessThanOrEqual(1.5 + 1e-9);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-13: percentiles stay in order and within what was seen, beyond the last bound too', () => {
    const any = fc.oneof(spread, short, fc.integer({ min: 0, max: 1e12 }));
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 100 }), (values) => {
        const { min, max, p50, p95, p99, count, sum } = durationStatistics(counted(values));
        expect(count).toBe(values.length);
        expect(min).toBe(Math.min(...values));
        expect(max).toBe(Math.max(...values));
        expect(sum).toBeCloseTo(
          values.reduce((total, ms) => total + ms, 0),
          0,
        );
        expect([min, p50, p95, p99, max]).toEqual([min, p50, p95, p99, max].sort((a, b) => a - b));
      }),
    );
  });

  it('bulk-action BA-13: nothing counted is all zeros, one duration is every percentile', () => {
    expect(durationStatistics(newHistogram())).toEqual({
      count: 0,
      sum: 0,
      min: 0,
      max: 0,
      p50: 0,
      p95: 0,
      p99: 0,
    });
    expect(durationStatistics(counted([37]))).toEqual({
      count: 1,
      sum: 37,
      min: 37,
      max: 37,
      p50: 37,
      p95: 37,
      p99: 37,
    });
  });

  it('bulk-action BA-13: bounds rise by at most 1.5 ×, and every duration lies in the bucket between its bounds', () => {
    DURATION_BOUNDS_MS.slice(1).forEach((bound, index) => {
      const before = DURATION_BOUNDS_MS[index] as number;
      expect(bound).toBeGreaterThan(before);
      expect(bound / before).toBeLessThanOrEqual(1.5);
    });
    fc.assert(
      fc.property(fc.oneof(spread, short, fc.constantFrom(...DURATION_BOUNDS_MS)), (ms) => {
        const bucket = bucketOf(ms);
        expect(ms).toBeLessThanOrEqual(DURATION_BOUNDS_MS[bucket] ?? Number.POSITIVE_INFINITY);
        expect(ms).toBeGreaterThan(DURATION_BOUNDS_MS[bucket - 1] ?? -1);
      }),
    );
    expect(bucketOf(Number.POSITIVE_INFINITY)).toBe(DURATION_BOUNDS_MS.length);
  });
});
