import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TenantView } from '../../src/model.js';
import { sharesOf } from '../../src/rules/fair-share.js';

const tenant = (patch: Partial<TenantView>): TenantView => ({
  id: 't',
  weight: 1,
  groups: 1,
  pending: 0,
  inFlight: 0,
  served: 0,
  servedPerSecond: 0,
  ...patch,
});
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

describe('bulk-action BA-1: who gets which share', () => {
  it('bulk-action BA-1: a share is part of what was served, a fair share part of the weights that want something', () => {
    const shares = sharesOf([
      tenant({ id: 'a', weight: 3, pending: 5, servedPerSecond: 60 }),
      tenant({ id: 'b', weight: 1, inFlight: 1, servedPerSecond: 30 }),
      tenant({ id: 'c', weight: 9, servedPerSecond: 10 }),
    ]);
    expect(shares.map(({ id, share, fairShare }) => [id, share, fairShare])).toEqual([
      ['a', 0.6, 0.75],
      ['b', 0.3, 0.25],
      ['c', 0.1, 0],
    ]);
    expect(shares[0]).toMatchObject({ weight: 3, pending: 5, servedPerSecond: 60 });
  });

  it('bulk-action BA-1: nothing served and nothing wanted is 0, not a division by 0', () => {
    expect(sharesOf([])).toEqual([]);
    expect(sharesOf([tenant({})])).toEqual([{ ...tenant({}), share: 0, fairShare: 0 }]);
  });

  it('bulk-action BA-1: shares add up to 1 or 0, and equal weights are entitled to the same', () => {
    const any = fc.record({
      weight: fc.double({ min: 0.001, max: 1000, noNaN: true }),
      pending: fc.nat(3),
      inFlight: fc.nat(3),
      servedPerSecond: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1000, noNaN: true })),
    });
    fc.assert(
      fc.property(fc.array(any, { maxLength: 30 }), (given) => {
        const shares = sharesOf(given.map(tenant));
        const served = given.some(({ servedPerSecond }) => servedPerSecond > 0);
        const wanted = given.some(({ pending, inFlight }) => pending + inFlight > 0);
        expect(sum(shares.map(({ share }) => share))).toBeCloseTo(served ? 1 : 0, 6);
        expect(sum(shares.map(({ fairShare }) => fairShare))).toBeCloseTo(wanted ? 1 : 0, 6);
        for (const { weight, fairShare } of shares) {
          const same = shares.filter((each) => each.weight === weight && each.fairShare > 0);
          for (const each of same) if (fairShare > 0) expect(each.fairShare).toBe(fairShare);
        }
      }),
    );
  });
});
