import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countEvents, newRateWindow, ratePerSecond, WINDOW_MS } from '../../src/rules/rate-window.js';

const START = 1_700_000_000_000;

describe('bulk-action BA-2: the measured rate', () => {
  it('nothing has happened: 0', () => {
    expect(ratePerSecond(newRateWindow(), START)).toBe(0);
  });

  it('one event is not thousands per second', () => {
    const window = newRateWindow();
    countEvents(window, START, 1);
    expect(ratePerSecond(window, START)).toBe(10);
  });

  it.each([1, 7, 100, 2500])('a steady %i per second is measured as that, at any moment', (rate) => {
    const window = newRateWindow();
    for (let event = 0; event < rate * 10; event++) countEvents(window, START + (event * 1000) / rate, 1);
    const last = START + ((rate * 10 - 1) * 1000) / rate;
    expect(Math.abs(ratePerSecond(window, last) - rate)).toBeLessThanOrEqual(Math.max(1, rate * 0.02));
  });

  it('a rate that ends is forgotten within two windows', () => {
    const window = newRateWindow();
    for (let event = 0; event < 1000; event++) countEvents(window, START + event, 1);
    expect(ratePerSecond(window, START + 2 * WINDOW_MS)).toBe(0);
  });

  it('a clock that goes back starts over', () => {
    const window = newRateWindow();
    countEvents(window, START, 500);
    countEvents(window, START - 86_400_000, 1);
    expect(ratePerSecond(window, START - 86_400_000)).toBe(10);
    expect(ratePerSecond(window, START - 2 * 86_400_000)).toBe(0);
  });

  it('never more than all events of two windows, never negative, and 0 when those are empty', () => {
    const steps = fc.array(fc.record({ afterMs: fc.nat(3000), amount: fc.nat(50) }), {
      minLength: 1,
      maxLength: 60,
      size: 'max',
    });
    fc.assert(
      fc.property(steps, fc.nat(5000), (events, laterMs) => {
        const window = newRateWindow();
        let now = START;
        const seen: { at: number; amount: number }[] = [];
        for (const { afterMs, amount } of events) {
          now += afterMs;
          countEvents(window, now, amount);
          seen.push({ at: now, amount });
        }
        now += laterMs;
        const recent = seen
          .filter(({ at }) => at > now - 2 * WINDOW_MS)
          .reduce((sum, { amount }) => sum + amount, 0);
        const rate = ratePerSecond(window, now);
        expect(rate).toBeGreaterThanOrEqual(0);
        expect(rate).toBeLessThanOrEqual(recent * 10);
        if (recent === 0) expect(rate).toBe(0);
      }),
    );
  });
});
