import {
  acceptedPerSecond,
  type CongestionSettings,
  limitAt,
  newCongestion,
  onAccepted,
  onStart,
  onThrottle,
} from '../../src/rules/congestion.js';
import { defaultBurst, emissionUs, nextSlotUs, spend } from '../../src/rules/gcra.js';
import { concurrencyAt, newVegas, onLatency, onTimeout } from '../../src/rules/vegas.js';

/** Decides when calls may start; times in ms. */
export interface Controller {
  readonly name: string;
  /** When the next call may start: now or before, later, or only after another one has ended (Infinity). */
  nextStartMs(nowMs: number, inFlight: number): number;
  started(nowMs: number): void;
  accepted(nowMs: number, startedMs: number, inFlight: number): void;
  refused(nowMs: number, startedMs: number, retryAfterMs?: number): void;
  /** Calls per second it lets through as far as it knows, for back-offs. */
  ratePerSecond(nowMs: number): number;
}

/** The shipped rules, as a store applies them: a rate by GCRA, and calls at once where it is asked for. */
export function shipped(
  settings: CongestionSettings & { readonly adaptiveConcurrency?: boolean } = {},
): Controller {
  const state = newCongestion();
  const vegas = newVegas();
  let tatUs = 0;
  let limited = false;
  return {
    name: 'Millrace',
    nextStartMs(nowMs, inFlight) {
      if (settings.adaptiveConcurrency && inFlight >= concurrencyAt(vegas, nowMs)) return Infinity;
      const { rps, frozenUntilMs } = limitAt(state, nowMs, settings);
      if (rps === undefined) {
        limited = false;
        return frozenUntilMs;
      }
      const burst = defaultBurst(rps);
      // A limit begins, and a pause ends, with an empty bucket: a full one would be a burst into a service that refuses.
      const emptyFromMs = frozenUntilMs > nowMs ? frozenUntilMs : limited ? 0 : nowMs;
      if (emptyFromMs > 0) tatUs = emptyFromMs * 1000 + burst * emissionUs(rps);
      limited = true;
      if (frozenUntilMs > nowMs) return frozenUntilMs;
      const slotUs = nextSlotUs({ rps, burst, tatUs, costMax: 1 }, nowMs * 1000, 1, 0);
      return slotUs / 1000;
    },
    started(nowMs) {
      const { rps } = limitAt(state, nowMs, settings);
      if (rps !== undefined)
        tatUs = spend({ rps, burst: defaultBurst(rps), tatUs, costMax: 1 }, nowMs * 1000, 1);
      onStart(state, nowMs);
    },
    accepted(nowMs, startedMs, inFlight) {
      onAccepted(state, nowMs, startedMs);
      onLatency(vegas, nowMs, nowMs - startedMs, inFlight);
    },
    refused: (nowMs, startedMs, retryAfterMs) => onThrottle(state, nowMs, startedMs, retryAfterMs),
    ratePerSecond: (nowMs) => limitAt(state, nowMs).rps ?? acceptedPerSecond(state, nowMs),
  };
}

/** Calls at once, one more with every round of successes, half of them after a refusal. */
export function aimdAlone(): Controller {
  let limit = 10;
  let cutAtMs = -1;
  return {
    name: 'AIMD alone',
    nextStartMs: (nowMs, inFlight) => (inFlight < Math.floor(limit) ? nowMs : Infinity),
    started: () => {},
    accepted() {
      limit += 1 / limit;
    },
    refused(nowMs, startedMs) {
      if (startedMs < cutAtMs) return;
      cutAtMs = nowMs;
      limit = Math.max(1, limit / 2);
    },
    ratePerSecond: () => limit,
  };
}

/** Calls at once by latency; a refusal counts as a timeout. */
export function vegasAlone(): Controller {
  const state = newVegas();
  return {
    name: 'Vegas alone',
    nextStartMs: (nowMs, inFlight) => (inFlight < concurrencyAt(state, nowMs) ? nowMs : Infinity),
    started: () => {},
    accepted: (nowMs, startedMs, inFlight) => onLatency(state, nowMs, nowMs - startedMs, inFlight),
    refused: (nowMs) => onTimeout(state, nowMs),
    ratePerSecond: (nowMs) => concurrencyAt(state, nowMs),
  };
}
