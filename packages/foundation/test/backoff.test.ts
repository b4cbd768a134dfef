import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs, type FailedAttempt, withJitter } from '../src/index.js';

const delays = (given: Partial<FailedAttempt>, ...attempts: readonly number[]) =>
  attempts.map((attempt) =>
    backoffMs({ strategy: 'exponential', baseMs: 1_000, maxMs: 300_000, ...given, attempt }),
  );

describe('backoffMs', () => {
  it('doubles from the base to the maximum, whatever the attempt', () => {
    expect(delays({}, 1, 2, 3, 9, 10, 101, 1e9)).toEqual([
      1_000, 2_000, 4_000, 256_000, 300_000, 300_000, 300_000,
    ]);
    expect(delays({ baseMs: 0 }, 1, 50, 5_000)).toEqual([0, 0, 0]);
  });

  it('grows linearly by the base, and is constant if the base is the maximum', () => {
    expect(delays({ strategy: 'linear' }, 1, 2, 299, 301)).toEqual([1_000, 2_000, 299_000, 300_000]);
    expect(delays({ strategy: 'linear', maxMs: 1_000 }, 1, 2, 99)).toEqual([1_000, 1_000, 1_000]);
  });

  it('calls a function with the attempt and its error, and limits its result', () => {
    const strategy = (attempt: number, error: unknown) => attempt * (error as number);
    expect(delays({ strategy, error: 7.5 }, 1, 2)).toEqual([7.5, 15]);
    expect(delays({ strategy: () => 1e12 }, 1)).toEqual([300_000]);
    expect(delays({ strategy: () => 1e12, customMaxMs: Number.POSITIVE_INFINITY }, 1)).toEqual([1e12]);
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
  ])('falls back to a named strategy for a function that returns %s', (_, broken) => {
    const strategy = broken as () => number;
    expect(delays({ strategy }, 1, 2, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(delays({ strategy, fallback: 'linear' }, 1, 2, 3)).toEqual([1_000, 2_000, 3_000]);
    expect(delays({ strategy, maxMs: 1_500, customMaxMs: 9_000 }, 2)).toEqual([1_500]);
  });

  it('is always between 0 and the maximum', () => {
    const strategies = fc.oneof(
      fc.constantFrom('exponential' as const, 'linear' as const),
      fc.double().map((delay) => () => delay),
    );
    const attempts = fc.integer({ min: 1, max: 2_000 });
    fc.assert(
      fc.property(attempts, strategies, fc.nat(), fc.nat(), (attempt, strategy, baseMs, maxMs) => {
        const delayMs = backoffMs({ attempt, strategy, baseMs, maxMs });
        expect(delayMs >= 0 && delayMs <= maxMs).toBe(true);
      }),
    );
  });
});

it('withJitter lengthens a delay by up to its share, and shortens it by a negative one', () => {
  expect([0, 0.5, 0.999].map((random) => withJitter(1_000, 0.1, random))).toEqual([1_000, 1_050, 1_099.9]);
  expect([0, 0.5].map((random) => withJitter(1_000, -0.5, random))).toEqual([1_000, 750]);
  expect(withJitter(1_000, 0, 0.9)).toBe(1_000);
});
