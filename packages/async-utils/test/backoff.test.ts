import { describe, expect, it, vi } from 'vitest';
import { exponentialBackoff, linearBackoff } from '../src/index.js';

describe('exponentialBackoff', () => {
  it('async-utils FR-002: base, multiplier and cap are tunable', () => {
    const backoff = exponentialBackoff({ baseMs: 10, multiplier: 3, maxMs: 200 });
    expect([1, 2, 3, 4, 5].map(backoff)).toEqual([10, 30, 90, 200, 200]);
  });

  it('stays at the cap when the power overflows', () => {
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

  it.each([
    [{ baseMs: -1 }, 'baseMs'],
    [{ maxMs: Number.NaN }, 'maxMs'],
    [{ multiplier: 0.5 }, 'multiplier'],
    [{ multiplier: Infinity }, 'multiplier'],
    [{ jitter: 1.1 }, 'jitter'],
    [{ jitter: -0.1 }, 'jitter'],
  ])('refuses %o', (options, name) => {
    expect(() => exponentialBackoff(options)).toThrow(RangeError);
    expect(() => exponentialBackoff(options)).toThrow(name);
  });
});

describe('linearBackoff', () => {
  it('async-utils FR-003: always the same delay', () => {
    const backoff = linearBackoff({ delayMs: 250 });
    expect([1, 2, 9].map(backoff)).toEqual([250, 250, 250]);
    expect(linearBackoff()(1)).toBe(1000);
  });

  it('refuses a negative delay', () => {
    expect(() => linearBackoff({ delayMs: -1 })).toThrow(
      /delayMs must be a number of milliseconds ≥ 0, got -1/,
    );
  });
});
