/*
 * How many calls a service may have at once, learnt from how long they take (TCP Vegas). With L calls under way and half of
 * them slower than RTT50, L × (1 − RTTmin / RTT50) of them wait in the service's queue: fewer than 3 is room for more, more
 * than 6 is a queue that only costs time.
 *
 * RTTmin must be able to forget, or a service that became slower for good would be strangled. But a minimum that is measured
 * beside a standing queue contains the queue, and every window would add another one. So when a window ends the
 * limit falls below what is really under way for a moment, the queue drains, and the new window begins with a clean sample.
 */

/** What a store keeps of one resource: plain numbers, times in ms of the store, the same in Lua to the bit. */
export interface VegasState {
  /** Calls at once; not whole, so that small steps add up. */
  limit: number;
  /** 1 until the first queue was seen: the limit doubles in every round. */
  doubling: number;
  /** A running median and by which part of itself it moves next. */
  rtt50Ms: number;
  step: number;
  /** The last move was up (1) or down (−1). */
  direction: number;
  /** The shortest of the running window and of the one before; 0 = none. */
  minMs: number;
  minBeforeMs: number;
  /** When the running window began, and until when the queue is let drain. */
  windowAtMs: number;
  drainUntilMs: number;
  /** Successes of the round: a round is as many as may be under way. */
  round: number;
  /** The last cut for a timeout. */
  cutAtMs: number;
}

/** Calls at once before anything is known. */
export const LIMIT_START = 10;
/** The window over which the shortest latency is remembered, up to twice as long. */
export const RTT_WINDOW_MS = 10_000;
/** Queued calls below which the limit grows and above which it shrinks. */
export const QUEUE_LOW = 3;
export const QUEUE_HIGH = 6;
/** A timeout keeps so much of the limit, once per epoch. */
export const TIMEOUT_KEPT = 0.9;
export const TIMEOUT_EPOCH_MS = 1000;

const STEP_MIN = 0.002;
const STEP_MAX = 0.1;
/** What is let through while the queue drains: a little less than is really under way. */
const DRAIN_PART = 0.8;
/** A drain lasts two round trips, so that at least one was made without a queue. */
const DRAIN_ROUNDS = 2;
const DRAIN_MAX_MS = 2000;

/** Nothing known. */
export const newVegas = (): VegasState => ({
  limit: LIMIT_START,
  doubling: 1,
  rtt50Ms: 0,
  step: STEP_MAX,
  direction: 0,
  minMs: 0,
  minBeforeMs: 0,
  windowAtMs: 0,
  drainUntilMs: 0,
  round: 0,
  cutAtMs: 0,
});

/**
 * Takes note of a success; nothing else is a latency: a refusal comes back quickly and says nothing good.
 * @param state - changed.
 * @param nowMs - when it ended.
 * @param rttMs - how long it took.
 * @param inFlight - calls under way, this one included: a limit that is not half used proves nothing and does not grow.
 */
export function onLatency(state: VegasState, nowMs: number, rttMs: number, inFlight: number): void {
  // Faster than the clock can tell is still a latency.
  const rtt = Math.max(0.1, rttMs);
  turnWindow(state, nowMs);
  state.minMs = state.minMs === 0 ? rtt : Math.min(state.minMs, rtt);
  moveMedian(state, rtt);
  state.round += 1;
  if (state.round < Math.max(2, state.limit)) return;
  state.round = 0;
  if (nowMs < state.drainUntilMs) return;
  adjust(state, inFlight);
}

/**
 * Takes note of a try that timed out.
 * @param state - changed.
 * @param nowMs - when.
 */
export function onTimeout(state: VegasState, nowMs: number): void {
  state.cutAtMs = Math.min(state.cutAtMs, nowMs);
  state.doubling = 0;
  if (state.cutAtMs > 0 && nowMs - state.cutAtMs < TIMEOUT_EPOCH_MS) return;
  state.cutAtMs = nowMs;
  state.limit = Math.max(1, state.limit * TIMEOUT_KEPT);
}

/**
 * How many calls may be under way at this moment.
 * @param state - looked at only.
 * @param nowMs - the present.
 * @param most - what is configured; no bound unless given.
 * @returns a whole number, at least 1.
 */
export function concurrencyAt(state: VegasState, nowMs: number, most?: number): number {
  // A drain further ahead than one can last was set by a clock that has jumped back since.
  const draining = nowMs < state.drainUntilMs && state.drainUntilMs - nowMs <= DRAIN_MAX_MS;
  const limit = draining ? state.limit * flowing(state) * DRAIN_PART : state.limit;
  const whole = Math.max(1, Math.floor(limit));
  return most === undefined ? whole : Math.max(1, Math.min(most, whole));
}

/**
 * Calls that wait in the service's queue.
 * @param state - looked at only.
 */
export const queuedCalls = (state: VegasState): number => state.limit * (1 - flowing(state));

/** The part of the calls that the service really works on. */
function flowing(state: VegasState): number {
  const shortest = rttMinMs(state);
  if (shortest === 0 || state.rtt50Ms <= shortest) return 1;
  return shortest / state.rtt50Ms;
}

function rttMinMs(state: VegasState): number {
  if (state.minMs === 0) return state.minBeforeMs;
  return state.minBeforeMs === 0 ? state.minMs : Math.min(state.minMs, state.minBeforeMs);
}

function turnWindow(state: VegasState, nowMs: number): void {
  if (state.windowAtMs === 0) state.windowAtMs = nowMs;
  // Also after a clock that went back: start over rather than wait for the old time.
  const ageMs = nowMs - state.windowAtMs;
  if (ageMs >= 0 && ageMs < RTT_WINDOW_MS) return;
  state.windowAtMs = nowMs;
  state.minBeforeMs = state.minMs;
  state.minMs = 0;
  state.drainUntilMs = nowMs + Math.min(DRAIN_MAX_MS, DRAIN_ROUNDS * state.rtt50Ms);
}

/** Up when the sample is above, down when below: rests where half of them are. Steps grow while they go one way. */
function moveMedian(state: VegasState, rttMs: number): void {
  if (state.rtt50Ms === 0) {
    state.rtt50Ms = rttMs;
    return;
  }
  const direction = rttMs > state.rtt50Ms ? 1 : -1;
  state.step =
    direction === state.direction
      ? Math.min(STEP_MAX, state.step * 1.5)
      : Math.max(STEP_MIN, state.step * 0.5);
  state.direction = direction;
  // Never past the sample: constant latencies are met exactly.
  state.rtt50Ms =
    direction === 1
      ? Math.min(rttMs, state.rtt50Ms * (1 + state.step))
      : Math.max(rttMs, state.rtt50Ms / (1 + state.step));
}

function adjust(state: VegasState, inFlight: number): void {
  const queued = queuedCalls(state);
  if (queued >= QUEUE_LOW) state.doubling = 0;
  if (queued > QUEUE_HIGH) {
    state.limit = Math.max(1, state.limit - Math.max(1, (queued - QUEUE_HIGH) / 2));
  } else if (queued < QUEUE_LOW && inFlight * 2 >= state.limit) {
    // Towards the lower bound in proportion: one call at a time would take a thousand rounds to a thousand calls.
    const more = (state.limit * (1 - queued / QUEUE_LOW)) / 10;
    state.limit += state.doubling === 1 ? state.limit : Math.max(1, more);
  }
}
