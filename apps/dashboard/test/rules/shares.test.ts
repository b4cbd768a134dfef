import { expect, it } from 'vitest';
import { longestShare, shareTone, wants } from '../../src/rules/shares.js';

it('holds less than three quarters of a fair share for too little', () => {
  expect(shareTone(0.1, 0.2)).toBe('hold');
  expect(shareTone(0.16, 0.2)).toBe('run');
  expect(shareTone(0.9, 0.2)).toBe('run');
});

it('does not judge those to whom nothing is due, or next to nothing', () => {
  expect(shareTone(0, 0)).toBe('run');
  expect(shareTone(0, 0.005)).toBe('run');
});

it('knows who wants something', () => {
  expect(wants({ pending: 0, inFlight: 0 })).toBe(false);
  expect(wants({ pending: 0, inFlight: 1 })).toBe(true);
});

it('gives the bars of many one scale: that of the longest, or of the furthest mark', () => {
  expect(
    longestShare([
      { share: 0.2, fairShare: 0.3 },
      { share: 0.1, fairShare: 0.1 },
    ]),
  ).toBe(0.3);
  expect(longestShare([])).toBe(0);
});
