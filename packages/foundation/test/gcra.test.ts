import fc from 'fast-check';
import { expect, it } from 'vitest';
import * as gcra from '../src/gcra.js';

const NOW_US = 1_700_000_000_000_000;
const YEAR_US = 31_536_000_000_000;

const buckets = fc.record({
  rps: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.double({ min: 0.05, max: 50, noNaN: true })),
  burst: fc.integer({ min: 1, max: 50 }),
  costMax: fc.constantFrom(1, 20, 1_000),
  tatUs: fc.constant(NOW_US - 5_000_000),
});
/**
 * Callers: the time since the one before as a share of what earns a start; the cost in % of the highest, 1 below 60, often
 * above the burst; and whether all who were admitted start now.
 */
type Caller = readonly [gap: number, size: number, isStarting: boolean];
const gaps = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true }));
const callers = fc.array(fc.tuple(gaps, fc.nat(100), fc.boolean()), { minLength: 2, maxLength: 60 });

/** Lets callers come one after the other. Those with a slot are admitted and start later, in their order. */
function play(full: gcra.GcraBucket, all: readonly Caller[], waits: boolean) {
  const starts: { readonly atUs: number; readonly cost: number }[] = [];
  const held: number[] = [];
  let [bucket, nowUs] = [full, NOW_US];
  for (const [gap, size, isStarting] of all) {
    nowUs += Math.round(gap * gcra.emissionUs(full.rps));
    const cost = size < 60 ? 1 : Math.max(1, Math.round((full.costMax * size) / 100));
    const heldCost = held.reduce((sum, each) => sum + each, 0);
    const slotUs = gcra.nextSlotUs(bucket, nowUs, cost, heldCost);
    if (waits && heldCost === 0) nowUs = Math.max(nowUs, slotUs);
    if (slotUs <= nowUs) held.push(cost);
    for (const each of isStarting ? held.splice(0) : []) {
      expect(gcra.nextSlotUs(bucket, nowUs, each)).toBeLessThanOrEqual(nowUs);
      bucket = { ...bucket, tatUs: gcra.tatAfterStart(bucket, nowUs, each) };
      starts.push({ atUs: nowUs, cost: each });
    }
  }
  return { starts, bucket, nowUs };
}

it('allows rps × T + max(burst, cost) in any window, never takes an admission back, and keeps the slots it names', () => {
  fc.assert(
    fc.property(buckets, callers, fc.boolean(), fc.nat(YEAR_US), (full, all, waits, jumpUs) => {
      const { starts, bucket, nowUs } = play(full, all, waits);
      for (const [index, { atUs: fromUs }] of starts.entries()) {
        let [sum, highest] = [0, full.burst];
        for (const { atUs, cost } of starts.slice(index)) {
          sum += cost;
          highest = Math.max(highest, cost);
          expect(sum).toBeLessThanOrEqual((full.rps * (atUs - fromUs)) / 1e6 + highest + 1e-6);
        }
      }
      // The clock jumps back by up to a year. The slot must not move away while a caller waits for it.
      let backUs = nowUs - jumpUs;
      for (let times = 0; times < 3; times++)
        backUs = Math.max(backUs, gcra.nextSlotUs(bucket, backUs, full.costMax));
      const longestUs = (full.burst + full.costMax) * gcra.emissionUs(full.rps);
      expect(backUs - (nowUs - jumpUs)).toBeLessThanOrEqual(longestUs);
      expect(gcra.nextSlotUs(bucket, backUs, full.costMax)).toBeLessThanOrEqual(backUs);
    }),
    { numRuns: 300 },
  );
});

it('starts a saturating caller at the ideal times, to the microsecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 30 }), (rps, burst) => {
      const all = Array.from({ length: 100 }, (): Caller => [0, 0, true]);
      const { starts } = play({ rps, burst, costMax: 1, tatUs: 0 }, all, true);
      const ideal = all.map((_, n) => Math.max(0, n - burst + 1) * gcra.emissionUs(rps));
      expect(starts.map(({ atUs }) => atUs - NOW_US)).toEqual(ideal);
    }),
  );
});

it('starts a cost above the burst on a full bucket only, and keeps its whole cost as debt', () => {
  const bucket: gcra.GcraBucket = { rps: 10, burst: 5, costMax: 1_000, tatUs: NOW_US };
  const after = { ...bucket, tatUs: gcra.tatAfterStart(bucket, NOW_US, 50) };
  const one = { ...bucket, tatUs: gcra.tatAfterStart(bucket, NOW_US) };
  expect(gcra.nextSlotUs(bucket, NOW_US, 50)).toBe(NOW_US);
  expect(gcra.nextSlotUs(after, NOW_US) - NOW_US).toBe(4_600_000);
  expect(gcra.nextSlotUs(one, NOW_US, 50) - NOW_US).toBe(100_000);
  expect([bucket, one, after].map((each) => gcra.tokensAt(each, NOW_US + 50_000))).toEqual([5, 4.5, 0]);
  expect(gcra.tokensAt(one, NOW_US, 2)).toBe(2);
});

it('keeps the debt in starts when the rate changes, but leaves an empty bucket just empty when the burst shrinks', () => {
  const bucket: gcra.GcraBucket = { rps: 10, burst: 5, costMax: 1_000, tatUs: NOW_US + 3_000_000 };
  expect([100, 1].map((rps) => gcra.tatAfterRateChange(bucket, NOW_US, rps) - NOW_US)).toEqual([3e5, 3e7]);
  expect(gcra.tatAfterRateChange({ ...bucket, tatUs: 0 }, NOW_US, 1)).toBe(NOW_US);
  const empty: gcra.GcraBucket = { rps: 10_000, burst: 1_000, costMax: 1_000, tatUs: NOW_US + 100_000 };
  const slow = { ...empty, rps: 10, burst: 1, tatUs: gcra.tatAfterRateChange(empty, NOW_US, 10, 1) };
  expect(gcra.nextSlotUs(slow, NOW_US) - NOW_US).toBe(100_000);
  const indebted: gcra.GcraBucket = { rps: 100, burst: 10, costMax: 1_000, tatUs: NOW_US + 300_000 };
  const debts = [2, 50].map((burst) => gcra.tatAfterRateChange(indebted, NOW_US, 100, burst) - NOW_US);
  expect(debts).toEqual([220_000, 300_000]);
});

it('has a default burst of a tenth of a second, and at least one start', () => {
  expect([0.5, 1, 9, 10, 25, 10_000].map(gcra.defaultBurst)).toEqual([1, 1, 1, 1, 2, 1_000]);
});
