import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { groupShares } from '../../../src/bulk/rules/group-shares.js';

const part = fc.double({ min: 0, max: 1, noNaN: true });
const tenants = fc.uniqueArray(
  fc.record({ id: fc.constantFrom('a', 'b', 'c'), share: part, fairShare: part }),
  { selector: ({ id }) => id },
);
const group = fc.record({
  tenantId: fc.constantFrom('a', 'b', 'c', 'unknown'),
  effectiveWeight: fc.double({ min: 0.001, max: 1e6, noNaN: true }),
  wanted: fc.nat(3),
  settledPerSecond: fc.oneof(fc.constant(0), fc.double({ min: 0.01, max: 1e5, noNaN: true })),
});

describe('groupShares', () => {
  it('divides the shares of each tenant among its groups, all of it where anybody wants or got anything', () => {
    fc.assert(
      fc.property(tenants, fc.array(group, { maxLength: 20 }), (known, groups) => {
        const shares = groupShares(known, groups);
        expect(shares).toHaveLength(groups.length);
        for (const { id, share, fairShare } of known) {
          const own = groups.flatMap((one, at) => (one.tenantId === id ? [{ ...one, at }] : []));
          const sum = (name: 'share' | 'fairShare') =>
            own.reduce((total, { at }) => total + (shares[at]?.[name] ?? Number.NaN), 0);
          expect(sum('share')).toBeCloseTo(own.some((one) => one.settledPerSecond > 0) ? share : 0, 9);
          expect(sum('fairShare')).toBeCloseTo(own.some((one) => one.wanted > 0) ? fairShare : 0, 9);
        }
        groups.forEach((one, at) => {
          const { share, fairShare } = shares[at] ?? { share: -1, fairShare: -1 };
          expect(share >= 0 && share <= 1 && fairShare >= 0 && fairShare <= 1).toBe(true);
          if (one.wanted === 0) expect(fairShare).toBe(0);
          if (!known.some(({ id }) => id === one.tenantId)) expect([share, fairShare]).toEqual([0, 0]);
        });
      }),
    );
  });

  it('twice the weight is twice the fair share', () => {
    const groups = [1, 2].map((effectiveWeight) => ({
      tenantId: 'a',
      effectiveWeight,
      wanted: 1,
      settledPerSecond: 3,
    }));
    expect(groupShares([{ id: 'a', share: 0.5, fairShare: 0.6 }], groups)).toEqual([
      { share: 0.25, fairShare: expect.closeTo(0.2) },
      { share: 0.25, fairShare: expect.closeTo(0.4) },
    ]);
  });
});
