import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  acceptedPerSecond,
  type CongestionState,
  GROWTH_GUESSING,
  GROWTH_MAX,
  KEPT,
  limitAt,
  MISSES_MAX,
  newCongestion,
  onAccepted,
  onStart,
  onThrottle,
  RPS_MIN,
} from '../../src/rules/congestion.js';

const NOW = 1_700_000_000_000;
const RETRY_AFTER_MAX_MS = 5000;

/** Starts so many per second, each accepted at once. */
function serve(state: CongestionState, fromMs: number, forMs: number, perSecond: number): number {
  const gapMs = 1000 / perSecond;
  let atMs = fromMs;
  for (; atMs < fromMs + forMs; atMs += gapMs) {
    limitAt(state, atMs);
    onStart(state, atMs);
    onAccepted(state, atMs, atMs);
  }
  return atMs;
}

/** One try that is refused at once. */
function refuse(state: CongestionState, atMs: number, retryAfterMs?: number): void {
  onStart(state, atMs);
  onThrottle(state, atMs, atMs, retryAfterMs);
}

/** A rate learnt from a second of history: 100 per second, then a refusal. */
function limited(perSecond = 100): { readonly state: CongestionState; readonly nowMs: number } {
  const state = newCongestion();
  const nowMs = serve(state, NOW, 3000, perSecond);
  refuse(state, nowMs);
  return { state, nowMs };
}

const rpsAt = (state: CongestionState, nowMs: number) => limitAt(state, nowMs).rps;

const step = fc.record({
  kind: fc.constantFrom('start', 'start', 'start', 'accept', 'accept', 'refuse', 'look'),
  afterMs: fc.oneof(
    fc.nat(30),
    fc.nat(30),
    fc.nat(3000),
    fc.integer({ min: -100_000, max: -1 }),
    fc.nat(1e7),
  ),
  startedBeforeMs: fc.nat(400),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: RETRY_AFTER_MAX_MS }), { nil: undefined }),
});
const steps = fc.array(step, { minLength: 1, maxLength: 300 });
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Any life of a rate, the clock set back and forth; looks at it after every step. */
function live(
  given: readonly Step[],
  initialRps: number,
  look: (state: CongestionState, nowMs: number) => void,
) {
  const state = newCongestion();
  let nowMs = NOW;
  for (const { kind, afterMs, startedBeforeMs, retryAfterMs } of given) {
    nowMs += afterMs;
    if (kind === 'start') onStart(state, nowMs);
    if (kind === 'accept') onAccepted(state, nowMs, nowMs - startedBeforeMs);
    if (kind === 'refuse') onThrottle(state, nowMs, nowMs - startedBeforeMs, retryAfterMs);
    limitAt(state, nowMs, { initialRps });
    look(state, nowMs);
  }
}

describe('bulk-action BA-3: the rate of a called service', () => {
  it('bulk-action BA-3: there is no limit until the service throttles', () => {
    fc.assert(
      fc.property(steps, (given) => {
        const quiet = given.filter(({ kind }) => kind !== 'refuse');
        live(quiet, 0, (state, nowMs) => expect(rpsAt(state, nowMs)).toBeUndefined());
      }),
    );
  });

  it('bulk-action BA-3: whatever happens, a rate is at least one per second and every number is finite', () => {
    fc.assert(
      fc.property(steps, fc.constantFrom(0, 0.5, 20), (given, initialRps) => {
        live(given, initialRps, (state, nowMs) => {
          for (const [field, value] of Object.entries(state))
            expect(Number.isFinite(value), `${field} is ${value}`).toBe(true);
          const rps = rpsAt(state, nowMs);
          if (rps !== undefined) expect(rps).toBeGreaterThanOrEqual(RPS_MIN);
          expect(acceptedPerSecond(state, nowMs)).toBeGreaterThanOrEqual(0);
        });
      }),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-3: nothing is frozen for longer than the service asked, also when the clock is set back', () => {
    fc.assert(
      fc.property(steps, (given) => {
        let asked = 0;
        for (const { kind, retryAfterMs = 0 } of given)
          if (kind === 'refuse') asked = Math.max(asked, retryAfterMs);
        live(given, 0, (state, nowMs) =>
          expect(limitAt(state, nowMs).frozenUntilMs - nowMs).toBeLessThanOrEqual(asked),
        );
      }),
      { numRuns: 300 },
    );
  });

  it('bulk-action BA-3: in quiet time it never falls, and grows by no more than half of itself in a second', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 500 }),
        fc.array(fc.integer({ min: 1, max: 120 }), { minLength: 5, maxLength: 200 }),
        (perSecond, gaps) => {
          const { state, nowMs: learntAt } = limited(perSecond);
          let nowMs = learntAt;
          let before = rpsAt(state, nowMs) as number;
          for (const gap of gaps) {
            nowMs += gap;
            onStart(state, nowMs);
            onAccepted(state, nowMs, nowMs);
            const rps = rpsAt(state, nowMs);
            if (rps === undefined) return;
            expect(rps).toBeGreaterThanOrEqual(before);
            expect(rps).toBeLessThanOrEqual(before * (1 + (GROWTH_MAX * (gap + 50)) / 1000) * (1 + 1e-9));
            before = rps;
          }
        },
      ),
    );
  });

  it('bulk-action BA-3: a throttle cuts to 0.98 of what was accepted in the last second', () => {
    const { state, nowMs } = limited(100);
    expect(rpsAt(state, nowMs)).toBeGreaterThan(KEPT * 98);
    expect(rpsAt(state, nowMs)).toBeLessThanOrEqual(KEPT * 101);
  });

  it('bulk-action BA-3: at most once per epoch: single refusals within a second change nothing, the next second counts', () => {
    const { state, nowMs } = limited(100);
    const learnt = rpsAt(state, nowMs) as number;
    const later = serve(state, nowMs + 1, 400, 60);
    refuse(state, later);
    expect(rpsAt(state, later)).toBeGreaterThanOrEqual(learnt);
    const next = serve(state, later + 1, 1000, 60);
    refuse(state, next);
    expect(rpsAt(state, next)).toBeLessThan(KEPT * 63);
    expect(rpsAt(state, next)).toBeGreaterThan(KEPT * 57);
  });

  it('bulk-action BA-3: refusals of tries that started before the cut are the same throttle', () => {
    const { state, nowMs } = limited(100);
    const learnt = rpsAt(state, nowMs);
    for (let n = 0; n < 40; n++) onThrottle(state, nowMs + 5, nowMs - 1);
    expect(rpsAt(state, nowMs + 5)).toBe(learnt);
  });

  it('bulk-action BA-3: when a good part is refused it does not wait for the epoch', () => {
    const { state, nowMs } = limited(100);
    let atMs = nowMs;
    // Every second one is refused, so that no three are in a row.
    for (let n = 0; n < 12; n++) {
      atMs += 10;
      if (n % 2 === 0) refuse(state, atMs);
      else serve(state, atMs, 1, 1000);
    }
    expect(atMs - nowMs).toBeLessThan(200);
    expect(rpsAt(state, atMs)).toBeLessThan(60);
    expect(rpsAt(state, atMs)).toBeGreaterThan(35);
  });

  it('bulk-action BA-3: a service that takes nothing gets a trickle, ever thinner, and its rate back when it was away', () => {
    const { state, nowMs } = limited(100);
    const learnt = rpsAt(state, nowMs) as number;
    for (let n = 1; n <= MISSES_MAX; n++) refuse(state, nowMs + n);
    const trickle = rpsAt(state, nowMs + 10) as number;
    expect(trickle).toBeLessThanOrEqual(learnt / 8);
    for (let n = 0; n < 60; n++) refuse(state, nowMs + 100 * n + 100);
    expect(rpsAt(state, nowMs + 7000)).toBe(RPS_MIN);
    onStart(state, nowMs + 7000);
    onAccepted(state, nowMs + 7050, nowMs + 7000);
    expect(rpsAt(state, nowMs + 7050)).toBeCloseTo(learnt / 2, 5);
    const full = serve(state, nowMs + 7060, 1200, learnt);
    expect(rpsAt(state, full), 'doubling, not crawling').toBeGreaterThan(learnt * 0.9);
  });

  it('bulk-action BA-3: asked for a pause it stops, and the pause that ends last counts', () => {
    const { state, nowMs } = limited(100);
    refuse(state, nowMs + 10, 3000);
    refuse(state, nowMs + 20, 500);
    expect(limitAt(state, nowMs + 30).frozenUntilMs).toBe(nowMs + 3010);
  });

  it('bulk-action BA-3: an unused rate does not grow, one that holds nobody back is taken away, one in use is not', () => {
    const idle = limited(100);
    const learnt = rpsAt(idle.state, idle.nowMs) as number;
    expect(rpsAt(idle.state, serve(idle.state, idle.nowMs + 1, 20_000, 20))).toBe(learnt);
    const { state, nowMs } = limited(100);
    let atMs = nowMs + 1;
    for (let second = 0; second < 12; second++)
      atMs = serve(state, atMs, 1000, (rpsAt(state, atMs) as number) * 0.9);
    expect(rpsAt(state, atMs), 'in use far beyond twice the old rate').toBeGreaterThan(1000);
    expect(rpsAt(state, serve(state, atMs, 3000, 100))).toBeUndefined();
  });

  it('bulk-action BA-3: initialRps starts slowly and doubles every second while it is used, until the first throttle', () => {
    const state = newCongestion();
    const settings = { initialRps: 10 };
    let atMs = NOW;
    for (const expected of [20, 40, 80]) {
      const untilMs = atMs + 1000;
      while (atMs < untilMs) {
        onStart(state, atMs);
        onAccepted(state, atMs, atMs);
        atMs += 1000 / (limitAt(state, atMs, settings).rps as number);
      }
      const rps = limitAt(state, atMs, settings).rps as number;
      // Ten per second are measured in tenths of a second, and a second that has just begun is not used yet.
      expect(rps / expected).toBeGreaterThan(0.8);
      expect(rps / expected).toBeLessThan(1.1);
    }
    expect(state.growth).toBe(GROWTH_GUESSING);
    refuse(state, atMs);
    refuse(state, atMs + 1100);
    expect(state.growth).toBeLessThan(GROWTH_GUESSING);
  });

  it('bulk-action BA-3: a clock set back by a year goes on as before', () => {
    const { state, nowMs } = limited(100);
    const learnt = rpsAt(state, nowMs) as number;
    const back = nowMs - 31_536_000_000;
    const later = serve(state, back, 3000, learnt);
    expect(rpsAt(state, later), 'it recovers on the new clock').toBeGreaterThan(learnt);
    refuse(state, later);
    expect(rpsAt(state, later), 'and reacts').toBeLessThanOrEqual(KEPT * (learnt + 2));
  });
});
