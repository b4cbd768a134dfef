import { describe, expect, it } from 'vitest';
import {
  bytesText,
  counted,
  countText,
  NOTHING,
  percentText,
  rateText,
  shortCount,
} from '../../src/rules/amounts.js';

describe('amounts', () => {
  it('have their thousands apart; what has little room is shortened', () => {
    expect(countText(1_234_567)).toBe('1,234,567');
    expect(shortCount(99_999)).toBe('99,999');
    expect(shortCount(1_234_567)).toBe('1.2M');
    expect([
      countText(null),
      shortCount(undefined),
      rateText(null),
      percentText(null),
      bytesText(null),
    ]).toEqual(Array(5).fill(NOTHING));
  });

  it('are counted in one or in many', () => {
    expect([counted(0, 'job'), counted(1, 'job'), counted(2_000, 'job')]).toEqual([
      '0 jobs',
      '1 job',
      '2,000 jobs',
    ]);
    expect(counted(2, 'failure is', 'failures are')).toBe('2 failures are');
  });

  it.each([
    [0, '0'],
    [0.001, '<0.01'],
    [0.5, '0.50'],
    [9.96, '10.0'],
    [12.34, '12.3'],
    [1_234.5, '1,235'],
    [250_000, '250K'],
  ])('a rate of %d is %s', (rate, text) => expect(rateText(rate)).toBe(text));

  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KB'],
    [5 * 1024 ** 3, '5.0 GB'],
    [-3 * 1024 ** 2, '-3.0 MB'],
    [1024 ** 6, '1048576 TB'],
  ])('%d bytes are %s', (bytes, text) => expect(bytesText(bytes)).toBe(text));

  it('parts are percent', () => {
    expect([percentText(0), percentText(0.1234), percentText(1)]).toEqual(['0%', '12.3%', '100%']);
  });
});
