import { expect, it, vi } from 'vitest';
import { exponentialBackoff, linearBackoff } from '../src/index.js';

it('async-utils FR-002: exponentialBackoff has base, multiplier and cap', () => {
  const backoff = exponentialBackoff({ baseMs: 10, multiplier: 3, maxMs: 200 });
  expect([1, 2, 3, 4, 5].map(backoff)).toEqual([10, 30, 90, 200, 200]);
  // The power overflows.
  expect(exponentialBackoff()(5000)).toBe(10_000);
  expect(exponentialBackoff({ baseMs: 0 })(5000)).toBe(0);
});

it('jitter 1 spreads over the whole delay and never exceeds it', () => {
  const backoff = exponentialBackoff({ jitter: 1 });
  const delays = Array.from({ length: 1000 }, () => backoff(3));
  expect(Math.max(...delays)).toBeLessThanOrEqual(400);
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
  expect(new Set(delays).size).toBeGreaterThan(900);
  vi.spyOn(Math, 'random').mockReturnValue(0.25);
  expect(backoff(1)).toBe(75);
  vi.restoreAllMocks();
});

it('async-utils FR-003: linearBackoff always has the same delay', () => {
  expect([1, 2, 9].map(linearBackoff({ delayMs: 250 }))).toEqual([250, 250, 250]);
  expect(linearBackoff()(1)).toBe(1000);
});
