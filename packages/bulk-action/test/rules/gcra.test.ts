import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Bucket, defaultBurst, emissionUs, nextSlotUs, rescale, spend } from '../../src/rules/gcra.js';

const NOW_US = 1_700_000_000_000_000;
const YEAR_US = 31_536_000_000_000;

const limits = fc.record({
  rps: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.double({ min: 0.05, max: 50, noNaN: true })),
  burst: fc.integer({ min: 1, max: 50 }),
  costMax: fc.constantFrom(1, 20, 1000),
});
/** Costs as a share of costMax, so that many are above the burst and many are 1. */
const arrivals = fc.array(fc.record({ gap: fc.double({ min: 0, max: 3, noNaN: true }), size: fc.nat(100) }), {
  minLength: 2,
  maxLength: 60,
});
const full = (limit: { rps: number; burst: number; costMax: number }): Bucket => ({
  ...limit,
  tatUs: NOW_US - 5_000_000,
});
const costOf = (size: number, costMax: number) =>
  size < 60 ? 1 : Math.max(1, Math.round((costMax * size) / 100));

interface Start {
  readonly atUs: number;
  readonly cost: number;
}

/** Callers that come at random and start when they may, or wait for their slot. */
function startsOf(
  bucket: Bucket,
  callers: readonly { gap: number; size: number }[],
  patient: boolean,
): Start[] {
  const emission = emissionUs(bucket.rps);
  const starts: Start[] = [];
  let { tatUs } = bucket;
  let nowUs = NOW_US;
  for (const { gap, size } of callers) {
    nowUs += Math.round(gap * emission);
    const cost = costOf(size, bucket.costMax);
    const slotUs = nextSlotUs({ ...bucket, tatUs }, nowUs, cost, 0);
    if (slotUs > nowUs && !patient) continue;
    nowUs = Math.max(nowUs, slotUs);
    tatUs = spend({ ...bucket, tatUs }, nowUs, cost);
    starts.push({ atUs: nowUs, cost });
  }
  return starts;
}

/** Every window that begins and ends with a start: no other one holds more. */
function expectWindowsWithinLimit(bucket: Bucket, starts: readonly Start[]): void {
  for (let from = 0; from < starts.length; from++) {
    let cost = 0;
    let highest = 0;
    for (const start of starts.slice(from)) {
      cost += start.cost;
      highest = Math.max(highest, start.cost);
      const seconds = (start.atUs - (starts[from] as Start).atUs) / 1_000_000;
      expect(cost).toBeLessThanOrEqual(bucket.rps * seconds + Math.max(bucket.burst, highest) + 1e-6);
    }
  }
}

describe('bulk-action BA-2: rate limits in whole microseconds', () => {
  it('bulk-action BA-2: no sliding window of any length holds more than limit × T + max(burst, cost)', () => {
    fc.assert(
      fc.property(limits, arrivals, fc.boolean(), (limit, callers, patient) => {
        expectWindowsWithinLimit(full(limit), startsOf(full(limit), callers, patient));
      }),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-2: a saturating caller never exceeds limit + max(burst, cost) in a sliding second, and reaches the limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 50 }), (rps, burst) => {
        const bucket = full({ rps, burst, costMax: 1 });
        const callers = Array.from({ length: burst + 2 * rps }, () => ({ gap: 0, size: 0 }));
        const starts = startsOf(bucket, callers, true);
        for (const [index, { atUs }] of starts.entries()) {
          const inSecond = starts.slice(index).filter((start) => start.atUs <= atUs + 1_000_000).length;
          expect(inSecond).toBeLessThanOrEqual(rps + burst);
        }
        // Rounding up to whole microseconds costs at most one of them per start.
        const lastUs = (starts.at(-1) as Start).atUs - NOW_US;
        expect(lastUs).toBeLessThanOrEqual(2_000_000 + 2 * rps);
      }),
      { numRuns: 60 },
    );
  });

  it('bulk-action BA-2: with a saturating caller every start comes at its ideal time, to the microsecond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20_000 }), fc.integer({ min: 1, max: 30 }), (rps, burst) => {
        const callers = Array.from({ length: 100 }, () => ({ gap: 0, size: 0 }));
        const starts = startsOf(full({ rps, burst, costMax: 1 }), callers, true);
        starts.forEach(({ atUs }, n) => {
          expect(atUs - NOW_US).toBe(Math.max(0, n - burst + 1) * emissionUs(rps));
        });
      }),
    );
  });

  it('bulk-action BA-2: nobody is refused for ever: the slot it names is kept, and lies within the highest debt', () => {
    fc.assert(
      fc.property(limits, arrivals, fc.nat(100), (limit, callers, size) => {
        const bucket = full(limit);
        const starts = startsOf(bucket, callers, true);
        const nowUs = starts.at(-1)?.atUs ?? NOW_US;
        const tatUs = starts.reduce(
          (tat, s) => spend({ ...bucket, tatUs: tat }, s.atUs, s.cost),
          bucket.tatUs,
        );
        const cost = costOf(size, limit.costMax);
        const slotUs = nextSlotUs({ ...bucket, tatUs }, nowUs, cost, 0);
        expect(slotUs - nowUs).toBeLessThanOrEqual((limit.burst + limit.costMax) * emissionUs(limit.rps));
        expect(nextSlotUs({ ...bucket, tatUs }, Math.max(nowUs, slotUs), cost, 0)).toBeLessThanOrEqual(
          Math.max(nowUs, slotUs),
        );
      }),
    );
  });

  it('bulk-action BA-2: a cost above the burst starts on a full bucket only and leaves its whole cost as debt', () => {
    const bucket: Bucket = { rps: 10, burst: 5, costMax: 1000, tatUs: NOW_US };
    expect(nextSlotUs(bucket, NOW_US, 50, 0)).toBe(NOW_US);
    const tatUs = spend(bucket, NOW_US, 50);
    expect(tatUs - NOW_US).toBe(5_000_000);
    expect(nextSlotUs({ ...bucket, tatUs }, NOW_US, 1, 0) - NOW_US).toBe(4_600_000);
    const oneSpent = { ...bucket, tatUs: spend(bucket, NOW_US, 1) };
    expect(nextSlotUs(oneSpent, NOW_US, 50, 0) - NOW_US).toBe(100_000);
  });

  it('bulk-action BA-2: what is let through with the cost already held counted is never refused when it spends in that order', () => {
    const step = fc.record({
      admit: fc.boolean(),
      size: fc.nat(100),
      gap: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 5, noNaN: true })),
    });
    let admitted = 0;
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 80 }), (limit, steps) => {
        let bucket = full(limit);
        let nowUs = NOW_US;
        const held: number[] = [];
        const spendFirst = () => {
          const cost = held.shift();
          if (cost === undefined) return;
          expect(nextSlotUs(bucket, nowUs, cost, 0)).toBeLessThanOrEqual(nowUs);
          bucket = { ...bucket, tatUs: spend(bucket, nowUs, cost) };
        };
        for (const { admit, size, gap } of steps) {
          nowUs += Math.round(gap * emissionUs(limit.rps));
          const cost = costOf(size, limit.costMax);
          const heldCost = held.reduce((sum, each) => sum + each, 0);
          if (!admit) spendFirst();
          else if (nextSlotUs(bucket, nowUs, cost, heldCost) <= nowUs)
            admitted += held.push(cost) > 0 ? 1 : 0;
        }
        while (held.length > 0) spendFirst();
      }),
      { numRuns: 300 },
    );
    expect(admitted).toBeGreaterThan(300);
  });

  it('bulk-action BA-2: a new rate keeps the debt in starts', () => {
    const bucket: Bucket = { rps: 10, burst: 5, costMax: 1000, tatUs: NOW_US + 3_000_000 };
    expect(rescale(bucket, NOW_US, 100) - NOW_US).toBe(300_000);
    expect(rescale(bucket, NOW_US, 1) - NOW_US).toBe(30_000_000);
    expect(rescale({ ...bucket, tatUs: 0 }, NOW_US, 1)).toBe(NOW_US);
    fc.assert(
      fc.property(
        limits,
        fc.integer({ min: 1, max: 5000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (limit, rps, part) => {
          const debt = part * (limit.burst + limit.costMax);
          const before: Bucket = { ...limit, tatUs: NOW_US + Math.floor(debt * emissionUs(limit.rps)) };
          const after = { ...before, rps, tatUs: rescale(before, NOW_US, rps) };
          const back = rescale(after, NOW_US, limit.rps);
          expect(Math.abs((after.tatUs - NOW_US) / emissionUs(rps) - debt)).toBeLessThanOrEqual(1 + 1e-6);
          expect(back).toBeGreaterThanOrEqual(before.tatUs);
        },
      ),
    );
  });

  it('bulk-action BA-2: an empty bucket stays just empty when rate and burst shrink, and a real debt stays on top', () => {
    const empty: Bucket = { rps: 10_000, burst: 1000, costMax: 1000, tatUs: NOW_US + 100_000 };
    const slow = { ...empty, rps: 10, burst: 1, tatUs: rescale(empty, NOW_US, 10, 1) };
    expect(nextSlotUs(slow, NOW_US, 1, 0) - NOW_US).toBe(100_000);
    const indebted: Bucket = { rps: 100, burst: 10, costMax: 1000, tatUs: NOW_US + 300_000 };
    expect(rescale(indebted, NOW_US, 100, 2) - NOW_US).toBe(220_000);
    expect(rescale(indebted, NOW_US, 100, 50) - NOW_US).toBe(300_000);
  });

  it('bulk-action BA-2: a clock that jumps back by a year freezes nothing beyond the highest debt', () => {
    fc.assert(
      fc.property(
        limits,
        arrivals,
        fc.integer({ min: 1, max: YEAR_US }),
        fc.nat(100),
        (limit, callers, jumpUs, size) => {
          const starts = startsOf(full(limit), callers, true);
          const tatUs = starts.reduce((tat, s) => spend({ ...full(limit), tatUs: tat }, s.atUs, s.cost), 0);
          const bucket = { ...full(limit), tatUs };
          const backUs = (starts.at(-1) as Start).atUs - jumpUs;
          const boundUs = (limit.burst + limit.costMax) * emissionUs(limit.rps);
          const cost = costOf(size, limit.costMax);
          // Asks again at whatever time it was told, until it may start: the answers must not move away.
          let nowUs = backUs;
          for (let asked = 0; asked < 3; asked++) nowUs = Math.max(nowUs, nextSlotUs(bucket, nowUs, cost, 0));
          expect(nowUs - backUs).toBeLessThanOrEqual(boundUs);
          expect(nextSlotUs(bucket, nowUs, cost, 0)).toBeLessThanOrEqual(nowUs);
          const next = { ...bucket, tatUs: spend(bucket, nowUs, cost) };
          expect(nextSlotUs(next, nowUs, cost, 0) - nowUs).toBeLessThanOrEqual(boundUs);
        },
      ),
    );
  });

  it('bulk-action BA-2: a rate that was given no burst may start a tenth of a second at once, at least one', () => {
    expect([0.5, 1, 9, 10, 25, 10_000].map(defaultBurst)).toEqual([1, 1, 1, 1, 2, 1000]);
  });
});
