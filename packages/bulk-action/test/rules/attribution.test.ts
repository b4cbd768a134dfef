import { seededRng } from '@millrace/foundation';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countActive,
  countRefusal,
  countThrottle,
  groupsForResource,
  newAttribution,
  newStamps,
  scopeOf,
  standsOut,
  type TrialState,
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

/** Calls of some groups, drawn by their share; each is refused with the probability of its group. */
class Calls {
  readonly name = 'api';
  starts = 0;
  evidence = 0;
  readonly trials = new Map<number, TrialState>();

  /** Whether the group stands out after this refusal; false for a call that was accepted. */
  call(group: number, isRefused: boolean, nowMs = NOW): boolean {
    this.starts += 1;
    const trial = this.trials.get(group);
    if (trial) trial.starts += 1;
    if (!isRefused) return false;
    this.evidence += 1;
    const counted = countRefusal(trial, this, nowMs);
    this.trials.set(group, counted);
    return standsOut(counted, this);
  }
}

describe('bulk-action BA-3: a group that stands out from a service that is held near its capacity', () => {
  it.each([2, 3, 8, 40])(
    'bulk-action BA-3: of %i groups that are refused alike hardly one is blamed',
    (groups) => {
      const rng = seededRng(`alike ${groups}`);
      let [refusals, blamed] = [0, 0];
      for (let run = 0; run < 50; run++) {
        const calls = new Calls();
        for (let n = 0; n < 1000; n++) {
          const isRefused = rng.chance(0.02);
          if (isRefused) refusals += 1;
          if (calls.call(rng.integer(0, groups - 1), isRefused)) blamed += 1;
        }
      }
      expect(blamed / refusals, `${blamed} of ${refusals}`).toBeLessThan(0.03);
    },
  );

  it.each([3, 8, 40])(
    'bulk-action BA-3: of %i groups the one with a limit of its own is found soon',
    (groups) => {
      const rng = seededRng(`own ${groups}`);
      const calls = new Calls();
      const found: boolean[] = [];
      for (let n = 0; n < 4000; n++) {
        const group = rng.integer(0, groups - 1);
        const stands = calls.call(group, group === 0 ? rng.chance(0.8) : rng.chance(0.005));
        if (group === 0 && stands) found.push(true);
        else expect(stands && group !== 0, `group ${group}`).toBe(false);
      }
      expect(calls.evidence - found.length, 'refusals that were not its own').toBeLessThan(
        calls.evidence / 3,
      );
    },
  );

  it('bulk-action BA-3: a count ends after ten seconds, with another service, and with a clock set back', () => {
    const calls = new Calls();
    for (let n = 0; n < 3; n++) calls.call(0, true);
    expect(calls.trials.get(0)).toMatchObject({ refused: 2, starts: 2 });
    for (const [nowMs, name] of [
      [NOW + 10_000, 'api'],
      [NOW - 1, 'api'],
      [NOW, 'mail'],
    ] as const) {
      const begun = countRefusal({ ...(calls.trials.get(0) as TrialState) }, { ...calls, name }, nowMs);
      expect(begun).toMatchObject({ by: name, fromMs: nowMs, refused: 0, starts: 0 });
    }
  });
});
