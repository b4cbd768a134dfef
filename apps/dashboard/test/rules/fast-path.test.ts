import type { StatPoint } from '@millrace/contract';
import { expect, it } from 'vitest';
import { fastPathOf } from '../../src/rules/fast-path.js';

const point = (fastPerSecond: number, convertedPerSecond: number) =>
  ({ operations: { fastPerSecond, convertedPerSecond } }) as StatPoint;

it('counts answers of some time, and which part of them came at once', () => {
  expect(fastPathOf([point(0.3, 0.1), null, point(0.6, 0.2)], 10)).toEqual({
    fast: 9,
    converted: 3,
    share: 0.75,
  });
});

it('knows no share where nothing was asked for', () => {
  expect(fastPathOf([point(0, 0), null], 10)).toEqual({ fast: 0, converted: 0, share: null });
  expect(fastPathOf([], 10).share).toBeNull();
});
