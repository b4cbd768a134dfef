import { describe, expect, it } from 'vitest';
import {
  agoText,
  between,
  durationText,
  momentText,
  shortDuration,
  untilText,
} from '../../src/rules/times.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const at = (ms: number) => new Date(NOW + ms).toISOString();

describe('times', () => {
  it.each([
    [null, '–'],
    [-5_000, 'any moment now'],
    [999, 'any moment now'],
    [1_000, 'in 1 s'],
    [59_999, 'in 59 s'],
    [7_200_000, 'in 2 h'],
  ])('counts down: %s ms is %s', (ms, text) => {
    expect(untilText(ms)).toBe(text);
  });

  it.each([
    [0, '0 ms'],
    [0.4, '<1 ms'],
    [999, '999 ms'],
    [2_449, '2.4 s'],
    [59_900, '60 s'],
    [59_999, '1 min'],
    [200_000, '3 min 20 s'],
    [3_599_999, '60 min'],
    [7_500_000, '2 h 5 min'],
    [90_000_000, '1 d 1 h'],
  ])('%d ms are %s', (ms, text) => expect(durationText(ms)).toBe(text));

  it.each([
    [59_000, '59 s'],
    [60_000, '1 min'],
    [344_000, '5.7 min'],
    [2_400_000, '40 min'],
    [7_500_000, '2.1 h'],
    [864_000_000, '10 d'],
  ])('%d ms in little room are %s', (ms, text) => expect(shortDuration(ms)).toBe(text));

  it('are so long ago, or will be', () => {
    expect(agoText(at(-500), NOW)).toBe('just now');
    expect(agoText(at(-59_000), NOW)).toBe('59 s ago');
    expect(agoText(at(-3_700_000), NOW)).toBe('1 h ago');
    expect(agoText(at(20_000), NOW)).toBe('in 20 s');
    expect(agoText(at(-3 * 86_400_000), NOW)).toBe('3 d ago');
  });

  it('that never were, or that nobody can read, are nothing', () => {
    for (const none of [null, undefined, 'no time']) {
      expect(agoText(none, NOW)).toBe('–');
      expect(momentText(none)).toBe('–');
    }
    expect([durationText(null), durationText(Number.NaN), shortDuration(undefined)]).toEqual(['–', '–', '–']);
  });

  it('between two, the second may not be there yet', () => {
    expect(between(null, null, NOW)).toBeNull();
    expect(between(at(-1_000), null, NOW)).toBe(1_000);
    expect(between(at(-3_000), at(-1_000), NOW)).toBe(2_000);
    // Of clocks that differ: nothing takes less than no time.
    expect(between(at(5_000), null, NOW)).toBe(0);
  });
});
