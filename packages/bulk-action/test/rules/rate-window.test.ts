import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countEvents,
  newRateWindow,
  ratePerSecond,
  SLOT_MS,
  WINDOW_SLOTS,
} from '../../src/rules/rate-window.js';

interface Event {
  readonly atMs: number;
  readonly amount: number;
}

const slotOf = (ms: number) => Math.floor(ms / SLOT_MS);

/** The same by a list of all events: those of the last 20 slots, over the time since the first of all. */
function naiveRate(events: readonly Event[], nowMs: number): number {
  const [first] = events;
  if (!first) return 0;
  const slots = Math.min(WINDOW_SLOTS, slotOf(nowMs) - slotOf(first.atMs) + 1);
  const recent = events.filter(({ atMs }) => slotOf(nowMs) - slotOf(atMs) < WINDOW_SLOTS);
  return recent.reduce((sum, { amount }) => sum + amount, 0) / ((slots * SLOT_MS) / 1000);
}

const beginMs = fc.constantFrom(0, 50, 1950, 1_700_000_000_000);
const steps = fc.array(
  fc.record({
    gapMs: fc.oneof(fc.nat(30), fc.nat(400), fc.nat(5000)),
    amount: fc.oneof(fc.constant(1), fc.nat(1000)),
  }),
  { maxLength: 120 },
);

describe('bulk-action BA-2: rates measured over the last two seconds', () => {
  it('bulk-action BA-2: it says what a list of all events would say', () => {
    fc.assert(
      fc.property(beginMs, steps, fc.nat(6000), (begin, given, waitMs) => {
        const window = newRateWindow();
        const events: Event[] = [];
        let nowMs = begin;
        for (const { gapMs, amount } of given) {
          nowMs += gapMs;
          expect(ratePerSecond(window, nowMs)).toBeCloseTo(naiveRate(events, nowMs), 6);
          countEvents(window, nowMs, amount);
          events.push({ atMs: nowMs, amount });
          expect(ratePerSecond(window, nowMs)).toBeCloseTo(naiveRate(events, nowMs), 6);
        }
        expect(ratePerSecond(window, nowMs + waitMs)).toBeCloseTo(naiveRate(events, nowMs + waitMs), 6);
        expect(window.counts.length).toBeLessThanOrEqual(WINDOW_SLOTS);
      }),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-2: a steady rate is measured as it is, from the first tenth of a second on', () => {
    const window = newRateWindow();
    for (let ms = 0; ms < 10_000; ms += 10) {
      countEvents(window, ms, 1);
      if (ms % SLOT_MS === 90) expect(ratePerSecond(window, ms)).toBe(100);
    }
    expect(ratePerSecond(window, 12_000)).toBe(0);
  });

  it('bulk-action BA-2: a clock that went back begins anew instead of counting into the future', () => {
    const window = newRateWindow();
    countEvents(window, 1_000_000, 500);
    expect(ratePerSecond(window, 5000)).toBe(0);
    countEvents(window, 5000, 10);
    expect(ratePerSecond(window, 5000)).toBe(100);
    expect(ratePerSecond(window, 5900)).toBe(10);
    expect(ratePerSecond(window, 7000)).toBe(0);
  });

  it('bulk-action BA-2: an untouched window is 0', () => {
    expect(ratePerSecond(newRateWindow(), 1234)).toBe(0);
  });
});
