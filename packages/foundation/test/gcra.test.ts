import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultBurst,
  emissionUs,
  type GcraBucket,
  nextSlotUs,
  tatAfterRateChange,
  tatAfterStart,
  tokensAt,
} from '../src/index.js';

const NOW_US = 1_700_000_000_000_000;
const YEAR_US = 31_536_000_000_000;

const buckets = fc.record({
  rps: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.double({ min: 0.05, max: 50, noNaN: true })),
  burst: fc.integer({ min: 1, max: 50 }),
  costMax: fc.constantFrom(1, 20, 1_000),
  tatUs: fc.constant(NOW_US - 5_000_000),
});
const gap = fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true }));
/** Sizes are costs as a share of the highest: many are 1, and many are above the burst. */
const arrivals = fc.array(fc.record({ gap, size: fc.nat(100) }), { minLength: 2, maxLength: 60 });
const costOf = (size: number, { costMax }: GcraBucket) =>
  size < 60 ? 1 : Math.max(1, Math.round((costMax * size) / 100));

/** Runs callers that start when they may. Patient ones wait for their slot, the others leave. */
function play(bucket: GcraBucket, callers: readonly { gap: number; size: number }[], isPatient: boolean) {
  const starts: { readonly atUs: number; readonly cost: number }[] = [];
  let { tatUs } = bucket;
  let nowUs = NOW_US;
  for (const { gap, size } of callers) {
    nowUs += Math.round(gap * emissionUs(bucket.rps));
    const cost = costOf(size, bucket);
    const slotUs = nextSlotUs({ ...bucket, tatUs }, nowUs, cost);
    if (slotUs > nowUs && !isPatient) continue;
    nowUs = Math.max(nowUs, slotUs);
    expect(nextSlotUs({ ...bucket, tatUs }, nowUs, cost)).toBeLessThanOrEqual(nowUs);
    tatUs = tatAfterStart({ ...bucket, tatUs }, nowUs, cost);
    starts.push({ atUs: nowUs, cost });
  }
  return { starts, after: { ...bucket, tatUs }, nowUs };
}

describe('GCRA', () => {
  it('allows at most rps × T + max(burst, cost) in any sliding window', () => {
    fc.assert(
      fc.property(buckets, arrivals, fc.boolean(), (bucket, callers, isPatient) => {
        const { starts } = play(bucket, callers, isPatient);
        for (const [index, { atUs: fromUs }] of starts.entries()) {
          let [sum, highest] = [0, bucket.burst];
          for (const { atUs, cost } of starts.slice(index)) {
            sum += cost;
            highest = Math.max(highest, cost);
            expect(sum).toBeLessThanOrEqual((bucket.rps * (atUs - fromUs)) / 1e6 + highest + 1e-6);
          }
        }
      }),
    );
  });

  it('starts a saturating caller at the ideal times, to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 30 }), (rps, burst) => {
        const callers = Array.from({ length: 100 }, () => ({ gap: 0, size: 0 }));
        const { starts } = play({ rps, burst, costMax: 1, tatUs: 0 }, callers, true);
        starts.forEach(({ atUs }, n) => {
          expect(atUs - NOW_US).toBe(Math.max(0, n - burst + 1) * emissionUs(rps));
        });
      }),
    );
  });

  it('names a slot that it keeps, within the highest debt, even if the clock jumps back a year', () => {
    fc.assert(
      fc.property(buckets, arrivals, fc.nat(YEAR_US), fc.nat(100), (bucket, callers, jumpUs, size) => {
        const { after, nowUs } = play(bucket, callers, true);
        const cost = costOf(size, bucket);
        let backUs = nowUs - jumpUs;
        // Asks again at each time it was given: the slot must not move away.
        for (let asked = 0; asked < 3; asked++) backUs = Math.max(backUs, nextSlotUs(after, backUs, cost));
        const longestUs = (bucket.burst + bucket.costMax) * emissionUs(bucket.rps);
        expect(backUs - (nowUs - jumpUs)).toBeLessThanOrEqual(longestUs);
        expect(nextSlotUs(after, backUs, cost)).toBeLessThanOrEqual(backUs);
        const next = { ...after, tatUs: tatAfterStart(after, backUs, cost) };
        expect(nextSlotUs(next, backUs, cost) - backUs).toBeLessThanOrEqual(longestUs);
      }),
    );
  });

  it('never refuses a start that was admitted beside the held cost', () => {
    const steps = fc.array(fc.record({ admits: fc.boolean(), size: fc.nat(100), gap }), { maxLength: 80 });
    let admitted = 0;
    fc.assert(
      fc.property(buckets, steps, (full, all) => {
        let [bucket, nowUs]: [GcraBucket, number] = [full, NOW_US];
        const held: number[] = [];
        for (const { admits, size, gap } of all) {
          nowUs += Math.round(gap * emissionUs(bucket.rps));
          const cost = admits ? costOf(size, bucket) : held.shift();
          if (cost === undefined) continue;
          const heldCost = admits ? held.reduce((sum, each) => sum + each, 0) : 0;
          const isAllowed = nextSlotUs(bucket, nowUs, cost, heldCost) <= nowUs;
          if (!admits) {
            expect(isAllowed).toBe(true);
            bucket = { ...bucket, tatUs: tatAfterStart(bucket, nowUs, cost) };
          } else if (isAllowed) admitted += held.push(cost) > 0 ? 1 : 0;
        }
      }),
    );
    expect(admitted).toBeGreaterThan(100);
  });

  it('starts a cost above the burst on a full bucket only, and keeps its whole cost as debt', () => {
    const bucket: GcraBucket = { rps: 10, burst: 5, costMax: 1_000, tatUs: NOW_US };
    const after = { ...bucket, tatUs: tatAfterStart(bucket, NOW_US, 50) };
    const one = { ...bucket, tatUs: tatAfterStart(bucket, NOW_US) };
    expect(nextSlotUs(bucket, NOW_US, 50)).toBe(NOW_US);
    expect(nextSlotUs(after, NOW_US) - NOW_US).toBe(4_600_000);
    expect(nextSlotUs(one, NOW_US, 50) - NOW_US).toBe(100_000);
    expect([bucket, one, after].map((each) => tokensAt(each, NOW_US + 50_000))).toEqual([5, 4.5, 0]);
    expect(tokensAt(one, NOW_US, 2)).toBe(2);
  });

  it('keeps the debt in starts when the rate changes, and no more than it when the burst shrinks', () => {
    const bucket: GcraBucket = { rps: 10, burst: 5, costMax: 1_000, tatUs: NOW_US + 3_000_000 };
    expect([100, 1].map((rps) => tatAfterRateChange(bucket, NOW_US, rps) - NOW_US)).toEqual([3e5, 3e7]);
    expect(tatAfterRateChange({ ...bucket, tatUs: 0 }, NOW_US, 1)).toBe(NOW_US);
    const empty: GcraBucket = { rps: 10_000, burst: 1_000, costMax: 1_000, tatUs: NOW_US + 100_000 };
    const slow = { ...empty, rps: 10, burst: 1, tatUs: tatAfterRateChange(empty, NOW_US, 10, 1) };
    expect(nextSlotUs(slow, NOW_US) - NOW_US).toBe(100_000);
    const indebted: GcraBucket = { rps: 100, burst: 10, costMax: 1_000, tatUs: NOW_US + 300_000 };
    const debts = [2, 50].map((burst) => tatAfterRateChange(indebted, NOW_US, 100, burst) - NOW_US);
    expect(debts).toEqual([220_000, 300_000]);
  });

  it('allows a tenth of a second at once by default, and at least one start', () => {
    expect([0.5, 1, 9, 10, 25, 10_000].map(defaultBurst)).toEqual([1, 1, 1, 1, 2, 1_000]);
  });
});
