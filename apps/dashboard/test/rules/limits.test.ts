import { expect, it } from 'vitest';
import { limitsChange, limitTexts, typedLimits, weightText } from '../../src/rules/limits.js';

const NONE = { weight: 1, rps: null, burst: null, concurrency: null };

it('changes what somebody has changed, and nothing else', () => {
  const before = { ...NONE, rps: 10, burst: 2 };
  const typed = typedLimits(before);
  expect(limitsChange(before, typed)).toEqual({});
  expect(limitsChange(before, { ...typed, weight: '2.5', rps: '10.0' })).toEqual({ weight: 2.5 });
  expect(limitsChange(before, { ...typed, rps: '', burst: ' ', concurrency: '4' })).toEqual({
    rps: null,
    burst: null,
    concurrency: 4,
  });
});

it('leaves a weight that was emptied as it is, and sends nonsense to be judged by the server', () => {
  expect(limitsChange(NONE, { ...typedLimits(NONE), weight: '' })).toEqual({});
  expect(limitsChange(NONE, { ...typedLimits(NONE), weight: '0' })).toEqual({ weight: 0 });
});

it('says limits in few words', () => {
  expect(limitTexts(NONE)).toEqual([]);
  expect(limitTexts({ ...NONE, burst: 3 })).toEqual([]);
  expect(limitTexts({ rps: 0.5, burst: 3, concurrency: 2_000 })).toEqual(['0.5/s, burst 3', '2,000 at once']);
  expect([1, 2.5, 0.0001, 1_000_000].map(weightText)).toEqual(['1', '2.5', '0.0001', '1,000,000']);
});
