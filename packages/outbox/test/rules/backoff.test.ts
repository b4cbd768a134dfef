import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type RetryFacts, retryDelayMs } from '../../src/rules/backoff.js';

const FACTS: RetryFacts = {
  attempt: 1,
  strategy: 'exponential',
  backoffMs: 1_000,
  jitter: 0,
  maxMs: 300_000,
  random: 0,
};
const delays = (facts: Partial<RetryFacts>, ...attempts: readonly number[]) =>
  attempts.map((attempt) => retryDelayMs({ ...FACTS, ...facts, attempt }));

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('outbox OB-2: back-off', () => {
  it('outbox OB-2: doubles from the first delay to the longest', () => {
    expect(delays({}, 1, 2, 3, 8, 9, 10, 101, 1e9)).toEqual([
      1_000, 2_000, 4_000, 128_000, 256_000, 300_000, 300_000, 300_000,
    ]);
    expect(delays({ backoffMs: 0 }, 1, 50, 5_000)).toEqual([0, 0, 0]);
  });

  it('outbox OB-2: linear grows by the first delay', () => {
    expect(delays({ strategy: 'linear' }, 1, 2, 3, 299, 301)).toEqual([
      1_000, 2_000, 3_000, 299_000, 300_000,
    ]);
  });

  it('outbox OB-2: a function is asked with the try and its error', () => {
    const seen: unknown[] = [];
    const strategy = (attempt: number, error: unknown) => {
      seen.push([attempt, error]);
      return attempt * 7.5;
    };
    expect(delays({ strategy, error: 'refused' }, 1, 2)).toEqual([7, 15]);
    expect(seen).toEqual([
      [1, 'refused'],
      [2, 'refused'],
    ]);
    expect(delays({ strategy: () => 1e12 }, 1)).toEqual([300_000]);
  });

  it.each<[string, () => unknown]>([
    ['a negative number', () => -1],
    ['NaN', () => Number.NaN],
    ['Infinity', () => Number.POSITIVE_INFINITY],
    ['a text', () => '5'],
    ['a promise', async () => 5],
    ['nothing', () => undefined],
    [
      'an error',
      () => {
        throw new Error('broken');
      },
    ],
  ])('outbox OB-2: a function that gives %s waits like exponential', (_, strategy) => {
    expect(delays({ strategy: strategy as () => number }, 1, 2, 3)).toEqual([1_000, 2_000, 4_000]);
  });

  it('outbox OB-2: is whole milliseconds, never longer than allowed, and jitter shortens it by its share at most', () => {
    fc.assert(
      fc.property(
        fc.record({
          attempt: fc.integer({ min: 1, max: 2_000 }),
          strategy: fc.oneof(
            fc.constantFrom('exponential' as const, 'linear' as const),
            fc.double().map((delay) => () => delay),
          ),
          backoffMs: fc.nat(86_400_000),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
          maxMs: fc.integer({ min: 1, max: 86_400_000 }),
          random,
        }),
        (facts) => {
          const delay = retryDelayMs(facts);
          const longest = retryDelayMs({ ...facts, random: 0 });
          expect(Number.isSafeInteger(delay)).toBe(true);
          expect(delay).toBeGreaterThanOrEqual(Math.floor(longest * (1 - facts.jitter)));
          expect(delay).toBeLessThanOrEqual(longest);
          expect(longest).toBeLessThanOrEqual(facts.maxMs);
        },
      ),
    );
  });
});
