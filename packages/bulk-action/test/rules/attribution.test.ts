import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countActive,
  countThrottle,
  groupsForResource,
  newAttribution,
  newStamps,
  scopeOf,
} from '../../src/rules/attribution.js';

const NOW = 1_700_000_000_000;

describe('bulk-action BA-3: who is slowed by a throttle', () => {
  it.each([
    [1, 1, 'resource'],
    [1, 2, 'group'],
    [2, 2, 'resource'],
    [2, 3, 'group'],
    [3, 3, 'resource'],
    [2, 10, 'group'],
    [3, 10, 'resource'],
    [3, 11, 'group'],
    [29, 100, 'group'],
    [30, 100, 'resource'],
  ] as const)(
    'bulk-action BA-3: throttles of %i of %i active groups slow the %s',
    (throttled, active, scope) => {
      expect(scopeOf(throttled, active)).toBe(scope);
    },
  );

  it('bulk-action BA-3: all active groups are always enough, and more throttled ones never mean fewer', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.nat(100_000), (active, throttled) => {
        expect(scopeOf(active, active)).toBe('resource');
        expect(groupsForResource(active)).toBeLessThanOrEqual(active);
        if (scopeOf(throttled, active) === 'resource')
          expect(scopeOf(throttled + 1, active)).toBe('resource');
      }),
    );
  });

  it('bulk-action BA-3: counts are those of distinct groups in this epoch and the one before, whoever comes how often', () => {
    const step = fc.record({
      group: fc.nat(20),
      afterMs: fc.oneof(fc.nat(40), fc.nat(2500)),
      throttled: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const state = newAttribution();
        const groups = Array.from({ length: 21 }, newStamps);
        const seen: { readonly epoch: number; readonly group: number; readonly throttled: boolean }[] = [];
        let nowMs = NOW;
        const distinct = (epoch: number, throttledOnly: boolean) =>
          new Set(
            seen
              .filter((one) => one.epoch === epoch && (one.throttled || !throttledOnly))
              .map((one) => one.group),
          ).size;
        for (const { group, afterMs, throttled } of steps) {
          nowMs += afterMs;
          const epoch = Math.floor(nowMs / 1000);
          seen.push({ epoch, group, throttled });
          const stamps = groups[group] as ReturnType<typeof newStamps>;
          if (!throttled) {
            countActive(state, stamps, nowMs);
            continue;
          }
          const most = (only: boolean) => Math.max(distinct(epoch, only), distinct(epoch - 1, only));
          expect(countThrottle(state, stamps, nowMs)).toBe(scopeOf(most(true), most(false)));
        }
      }),
    );
  });

  it('bulk-action BA-3: one customer over its own limit does not slow the others', () => {
    const state = newAttribution();
    const groups = Array.from({ length: 10 }, newStamps);
    for (let second = 0; second < 5; second++)
      groups.forEach((stamps, n) => {
        const nowMs = NOW + 1000 * second + 10 * n;
        if (n === 4) expect(countThrottle(state, stamps, nowMs)).toBe('group');
        else countActive(state, stamps, nowMs);
      });
  });

  it('bulk-action BA-3: a clock set back begins anew', () => {
    const state = newAttribution();
    const stamps = newStamps();
    countThrottle(state, stamps, NOW);
    expect(countThrottle(state, stamps, NOW - 1_000_000)).toBe('resource');
    expect(state).toMatchObject({ active: 1, throttled: 1, activeBefore: 0, throttledBefore: 0 });
  });
});
