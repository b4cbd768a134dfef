import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countFailure, type FailureCodes, forgetFailure } from '../../src/rules/failure-codes.js';

const codeOf = fc.integer({ min: 0, max: 150 }).map((n) => (n === 150 ? 'OTHER_CODES' : `CODE_${n}`));

describe('error codes of a group', () => {
  it('bulk-action BA-13: whatever fails and is taken back, the sum is what failed, and the names stay few', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ code: codeOf, undo: fc.boolean() }), { maxLength: 600 }), (steps) => {
        const codes: FailureCodes = new Map();
        const failed: string[] = [];
        for (const { code, undo } of steps) {
          const taken = undo ? failed.shift() : undefined;
          if (taken !== undefined) forgetFailure(codes, taken);
          else {
            countFailure(codes, code);
            failed.push(code);
          }
          expect(codes.size).toBeLessThanOrEqual(101);
        }
        const sum = [...codes.values()].reduce((total, count) => total + count, 0);
        expect(sum).toBe(failed.length);
      }),
      { numRuns: 200 },
    );
  });
});
