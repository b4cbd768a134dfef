import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gracePlan } from '../../src/compose/grace-plan.js';

describe('gracePlan', () => {
  it('gives work most of the time, and leaves enough to give back, to answer and to end', () => {
    expect(gracePlan(30_000)).toEqual({ workMs: 21_000, lastAnswersMs: 2_000, exitMs: 29_000 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 - 1 }), (gracePeriodMs) => {
        const { workMs, lastAnswersMs, exitMs } = gracePlan(gracePeriodMs);
        expect(workMs + lastAnswersMs).toBeLessThanOrEqual(exitMs);
        expect(exitMs).toBeLessThan(gracePeriodMs);
      }),
    );
  });
});
