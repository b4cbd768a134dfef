import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  concurrencyAt,
  LIMIT_START,
  newVegas,
  onLatency,
  onTimeout,
  QUEUE_HIGH,
  QUEUE_LOW,
  queuedCalls,
  RTT_WINDOW_MS,
  TIMEOUT_EPOCH_MS,
  TIMEOUT_KEPT,
  type VegasState,
} from '../../src/rules/vegas.js';

const NOW = 1_700_000_000_000;

/** A service of fixed speed whose queue holds what is above it; every call of the limit is always under way. */
function drive(
  state: VegasState,
  fromMs: number,
  forMs: number,
  service: { perSecond: number; baseMs: number },
) {
  let nowMs = fromMs;
  while (nowMs < fromMs + forMs) {
    const inFlight = concurrencyAt(state, nowMs);
    const flowing = (service.perSecond * service.baseMs) / 1000;
    const rttMs = Math.max(service.baseMs, (service.baseMs * inFlight) / flowing);
    nowMs += rttMs / inFlight;
    onLatency(state, nowMs, rttMs, inFlight);
  }
  return nowMs;
}

describe('bulk-action BA-3: calls at once by latency', () => {
  it.each([
    [100, 50],
    [1000, 100],
    [40, 500],
  ])(
    'bulk-action BA-3: %i calls per second of %i ms: it settles with 3 to 6 calls in the queue',
    (perSecond, baseMs) => {
      const state = newVegas();
      const nowMs = drive(state, NOW, 40_000, { perSecond, baseMs });
      const really = (perSecond * baseMs) / 1000;
      expect(state.limit - really, 'queued').toBeGreaterThanOrEqual(QUEUE_LOW - 1.5);
      expect(state.limit - really, 'queued').toBeLessThanOrEqual(QUEUE_HIGH + 1.5);
      expect(concurrencyAt(state, nowMs + 5000)).toBe(Math.floor(state.limit));
    },
  );

  it('bulk-action BA-3: the shortest latency is forgotten: a service that became slower for good is used fully again', () => {
    const state = newVegas();
    const nowMs = drive(state, NOW, 15_000, { perSecond: 100, baseMs: 20 });
    drive(state, nowMs, 4 * RTT_WINDOW_MS, { perSecond: 100, baseMs: 200 });
    expect(state.limit).toBeGreaterThanOrEqual(20);
  });

  it('bulk-action BA-3: windows do not add a queue each: after many of them it is as short as after one', () => {
    const state = newVegas();
    drive(state, NOW, 30 * RTT_WINDOW_MS, { perSecond: 100, baseMs: 50 });
    expect(state.limit - 5).toBeLessThanOrEqual(QUEUE_HIGH + 2);
  });

  it('bulk-action BA-3: a timeout keeps nine tenths, once per epoch', () => {
    const state = newVegas();
    onTimeout(state, NOW);
    onTimeout(state, NOW + TIMEOUT_EPOCH_MS - 1);
    expect(state.limit).toBe(LIMIT_START * TIMEOUT_KEPT);
    onTimeout(state, NOW + TIMEOUT_EPOCH_MS);
    expect(state.limit).toBeCloseTo(LIMIT_START * TIMEOUT_KEPT ** 2);
    onTimeout(state, NOW - 1_000_000);
    expect(state.limit, 'a clock set back: within the epoch that it begins').toBeCloseTo(8.1);
    onTimeout(state, NOW - 1_000_000 + TIMEOUT_EPOCH_MS);
    expect(state.limit).toBeCloseTo(7.29);
  });

  it('bulk-action BA-3: a limit that is not used does not grow', () => {
    const state = newVegas();
    for (let n = 0; n < 1000; n++) onLatency(state, NOW + 10 * n, 10, 1);
    expect(state.limit).toBe(LIMIT_START);
  });

  it('bulk-action BA-3: whatever is measured, it is a whole number from 1 to what is configured', () => {
    const sample = fc.record({
      afterMs: fc.oneof(fc.nat(50), fc.nat(20_000), fc.integer({ min: -50_000, max: -1 })),
      rttMs: fc.oneof(
        fc.double({ min: 0, max: 5, noNaN: true }),
        fc.nat(500),
        fc.double({ min: 0, max: 1e6, noNaN: true }),
      ),
      timeout: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.array(sample, { maxLength: 300 }),
        fc.integer({ min: 1, max: 50 }),
        fc.nat(99),
        (samples, most, seldom) => {
          const state = newVegas();
          let nowMs = NOW;
          samples.forEach(({ afterMs, rttMs, timeout }, n) => {
            nowMs += afterMs;
            if (timeout && n % 100 > seldom) onTimeout(state, nowMs);
            else onLatency(state, nowMs, rttMs, concurrencyAt(state, nowMs));
            const limit = concurrencyAt(state, nowMs, most);
            expect(Number.isInteger(limit)).toBe(true);
            expect(limit).toBeGreaterThanOrEqual(1);
            expect(limit).toBeLessThanOrEqual(most);
            expect(concurrencyAt(state, nowMs)).toBeGreaterThanOrEqual(limit);
            expect(queuedCalls(state)).toBeGreaterThanOrEqual(0);
            expect(Object.values(state).every(Number.isFinite)).toBe(true);
          });
        },
      ),
    );
  });
});
