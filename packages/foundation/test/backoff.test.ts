import { expect, it } from 'vitest';
import { backoffMs, type FailedAttempt, withJitter } from '../src/index.js';

const delays = (given: Partial<FailedAttempt>, ...attempts: readonly number[]) =>
  attempts.map((attempt) =>
    backoffMs({ strategy: 'exponential', baseMs: 1_000, maxMs: 300_000, ...given, attempt }),
  );
const throwing = () => {
  throw new Error('broken');
};

it('doubles from the base, or grows linearly by it, to the maximum, whatever the attempt', () => {
  const expected = [1_000, 2_000, 4_000, 256_000, 300_000, 300_000, 300_000];
  expect(delays({}, 1, 2, 3, 9, 10, 101, 1e9)).toEqual(expected);
  expect(delays({ baseMs: 0 }, 1, 50, 5_000)).toEqual([0, 0, 0]);
  expect(delays({ strategy: 'linear' }, 1, 2, 299, 301)).toEqual([1_000, 2_000, 299_000, 300_000]);
  expect(delays({ strategy: 'linear', maxMs: 1_000 }, 1, 2, 99)).toEqual([1_000, 1_000, 1_000]);
});

it('calls a function with the attempt and its error, and limits its result', () => {
  const strategy = (attempt: number, error: unknown) => attempt * (error as number);
  expect(delays({ strategy, error: 7.5 }, 1, 2)).toEqual([7.5, 15]);
  expect(delays({ strategy: () => 1e12 }, 1)).toEqual([300_000]);
  expect(delays({ strategy: () => 1e12, customMaxMs: Number.POSITIVE_INFINITY }, 1)).toEqual([1e12]);
});

it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, '5', Promise.resolve(5), undefined, throwing])(
  'falls back to a named strategy for a function that returns %s',
  (result) => {
    const strategy = result === throwing ? throwing : () => result as number;
    expect(delays({ strategy }, 1, 2, 3)).toEqual([1_000, 2_000, 4_000]);
    expect(delays({ strategy, fallback: 'linear' }, 1, 2, 3)).toEqual([1_000, 2_000, 3_000]);
    expect(delays({ strategy, maxMs: 1_500, customMaxMs: 9_000 }, 2)).toEqual([1_500]);
  },
);

it('withJitter lengthens a delay by up to its share, and shortens it by a negative one', () => {
  expect([0, 0.5, 0.999].map((random) => withJitter(1_000, 0.1, random))).toEqual([1_000, 1_050, 1_099.9]);
  expect([0, 0.5].map((random) => withJitter(1_000, -0.5, random))).toEqual([1_000, 750]);
});
