import { describe, expect, it } from 'vitest';
import { amount, duration, moment, percent } from '../../../src/cli/show/amounts.js';

describe('amounts', () => {
  it.each([
    [0, '0 ms'],
    [999.4, '999 ms'],
    [1000, '1.0 s'],
    [8_440, '8.4 s'],
    [9_960, '10 s'],
    [59_949, '60 s'],
    [59_950, '1 min'],
    [65_000, '1 min 5 s'],
    [3_600_000, '1 h'],
    [3_900_000, '1 h 5 min'],
    [90_000_000, '1 d 1 h'],
    [86_460_000, '1 d'],
    [null, '-'],
  ])('%s ms is %s', (ms, text) => {
    expect(duration(ms)).toBe(text);
  });

  it('numbers have their thousands apart, shares are in percent, times to the second', () => {
    expect([0, 0.125, 12.345, 1234567, null, undefined].map(amount)).toEqual([
      '0',
      '0.13',
      '12.3',
      '1,234,567',
      '-',
      '-',
    ]);
    expect(percent(0.125)).toBe('12.5 %');
    expect(moment('2026-01-02T03:04:05.678Z')).toBe('2026-01-02 03:04:05 UTC');
    expect(moment(null)).toBe('-');
  });
});
