/*
 * How fast a called service may be called, learnt from what it says. The same rule runs for a resource and for a group.
 *
 *   no limit ──throttle──▶ limited: rate = 0.98 × accepted in the last second ──grows while quiet and used──┐
 *       ▲                     │  ▲                                                                          │
 *       │                     │  └── throttle, at most once per epoch: cut again ◀───────────────────────────┘
 *       │                     └─ 3 refusals in a row: the service takes nothing; a trickle asks until one gets through
 *       └── above twice the rate of the last throttle and hardly used: the limit holds nobody back
 *
 * Where it differs from the formulas it began with, and why. Virtual time, capacity 100 → 40 → 100/s in phases of 30 s, 50
 * workers, services that count by leaky bucket, by sliding and by fixed window: the first formulas reach 65, 87 and 90 % of
 * the ideal with 3 to 4 % refused (test/congestion prints them beside the present ones).
 * - Accepted = started − refused, not "successes": a refusal comes back in milliseconds, a success after the job. Counted
 *   by successes the rate falls to 1/s when the first refusals overtake the first successes, and short by a job's length
 *   in every recovery.
 * - Only tries that started after the last cut are evidence. Those before it were sent at the old rate: 40 refusals of one
 *   burst are one throttle.
 * - A cut inside the epoch when a sixth is refused, to what was accepted of it: a drop from 100 to 40 costs 14 refusals
 *   of a bucket, 34 without.
 * - A trickle while nothing gets through: a window that is full refuses everything until it has drained, and what was
 *   accepted in the second before the first success is then exactly what it takes. Without it a sliding window gives
 *   75 % of the ideal and a fixed one 32 %.
 * - Growth waits for 20 starts, goes at 3 to 6 %/s near the rate that was refused last, and doubles every 200 ms beyond it,
 *   up to 50 %/s: a refusal buys the knowledge that nothing has changed, so it is asked for seldom and gently; once the
 *   old mark is passed, something has changed. From 40 to 100 it takes 4 s; 2 %/s doubling every 2 s to 25 %/s takes 9.
 * - 0.98 instead of 0.97 of what was accepted, since that is now counted well: half a percent more done.
 * - No limit again only when the limit is hardly used. Letting go of a service under load meets it with every worker at once.
 */

/**
 * What a store keeps of one rate: plain numbers, times in ms of the store. Only + − × ÷, floor, min and max are used on
 * them, so that Lua arrives at the same bits.
 */
export interface CongestionState {
  /** Starts per second; 0 = no limit. */
  rps: number;
  /** The rate at which the last throttle came; 0 = there was none yet. */
  ceilingRps: number;
  /** By how much of itself the rate grows, per second; GROWTH_GUESSING while the capacity is only guessed. */
  growth: number;
  /** The last cut; tries and refusals of those that started since. */
  cutAtMs: number;
  tries: number;
  refused: number;
  /** Since when growth may double, and when it was last applied. */
  quietFromMs: number;
  grownAtMs: number;
  /** When the service last asked for a pause, and how long. */
  frozenAtMs: number;
  frozenForMs: number;
  /** Refusals in a row, and the time of the first. */
  misses: number;
  missingFromMs: number;
  /** What was accepted in the second before the first start after the last miss; 1 while that start is still to come. */
  probeAccepted: number;
  probeDue: number;
  /** Accepted in the quarter that begins at slotMs and in the four before it. */
  slotMs: number;
  slot0: number;
  slot1: number;
  slot2: number;
  slot3: number;
  slot4: number;
}

/** What is configured of a resource's rate. */
export interface CongestionSettings {
  /** Begin with this rate and double it every second until the first throttle (0: no limit until then). */
  readonly initialRps?: number | undefined;
}

/** How fast starts may come now. */
export interface CongestionLimit {
  /** Undefined: no limit. */
  readonly rps: number | undefined;
  /** Nothing starts before; 0 or in the past when nothing is frozen. */
  readonly frozenUntilMs: number;
}

/** No rate is ever lower: below it nothing would be learnt any more. */
export const RPS_MIN = 1;
/** A rate is cut by throttles at most once in this time, evidence of a real drop aside. */
const EPOCH_MS = 1000;
/** How much of what was accepted is kept at a cut: room for what the measure is wrong by. */
export const KEPT = 0.98;
/** Growth per second right after a cut, and the most it becomes. It is applied in small steps, so it compounds. */
const GROWTH_MIN = 0.03;
export const GROWTH_MAX = 0.5;
/** While the capacity is only guessed: applied 20 times a second it doubles the rate, (1 + 0.7 / 20)²⁰ = 1.99. */
export const GROWTH_GUESSING = 0.7;

/** Near the last throttle, from this part of its rate on, growth is held down. */
const NEAR = 0.8;
const GROWTH_NEAR = 0.06;
const SLOT_MS = 250;
const GROWTH_DOUBLES_MS = 200;
/** Of the growth at a cut so much is kept: a cut in full growth measured a second that began far lower. */
const GROWTH_KEPT = 0.125;
const GROW_EVERY_MS = 50;
/** Growth waits for so many starts after a cut, but at slow rates not longer than this. */
const PATIENCE_STARTS = 20;
const PATIENCE_MAX_MS = 5000;
/** It waits so many times as long as the service asked to be left alone, because finding out costs that pause again. */
const PATIENCE_PER_FREEZE = 5;
const PATIENCE_FROZEN_MAX_MS = 30_000;
/** Refusals in a row after which the service is taken to accept nothing. */
export const MISSES_MAX = 3;
/** The trickle: a part of the rate, halved with every four more misses from the twelfth on. */
const TRICKLE = 0.125;
/** A drought this long has been measured by its end; a longer one than the window says nothing about the rate. */
const DROUGHT_MS = 500;
const OUTAGE_MS = 1000;
/** A fall below this part of the rate is no measure: a first burst that has just left the window looks like that. */
const IMPLAUSIBLE = 0.25;
/** Evidence of a drop inside the epoch: so many refused, and at least every sixth. */
const EVIDENCE_REFUSED = 5;
const EVIDENCE_PART = 6;

/** No limit, nothing known. */
export const newCongestion = (): CongestionState => ({
  rps: 0,
  ceilingRps: 0,
  growth: GROWTH_MIN,
  cutAtMs: 0,
  tries: 0,
  refused: 0,
  quietFromMs: 0,
  grownAtMs: 0,
  frozenAtMs: 0,
  frozenForMs: 0,
  misses: 0,
  missingFromMs: 0,
  probeAccepted: 0,
  probeDue: 0,
  slotMs: 0,
  slot0: 0,
  slot1: 0,
  slot2: 0,
  slot3: 0,
  slot4: 0,
});

/**
 * No limit, but known what was accepted until now: the first throttle then cuts to that and not to the least.
 * @param nowMs - the present.
 * @param acceptedPerSecond - in the last second or two.
 */
export function knownCongestion(nowMs: number, acceptedPerSecond: number): CongestionState {
  const state = newCongestion();
  moveOn(state, nowMs);
  state.slot3 = acceptedPerSecond;
  return state;
}

/**
 * Counts a start that was let through.
 * @param state - changed.
 * @param nowMs - when.
 */
export function onStart(state: CongestionState, nowMs: number): void {
  moveOn(state, nowMs);
  if (state.probeDue === 1) {
    state.probeAccepted = acceptedPerSecond(state, nowMs);
    state.probeDue = 0;
  }
  state.tries += 1;
  state.slot0 += 1;
}

/**
 * Takes note of a try that the service did not refuse: a success, or a failure that is the job's own.
 * @param state - changed.
 * @param nowMs - when it ended.
 * @param startedMs - when it started.
 */
export function onAccepted(state: CongestionState, nowMs: number, startedMs: number): void {
  moveOn(state, nowMs);
  grow(state, nowMs);
  // One that started before the refusals says nothing about them.
  if (state.rps === 0 || state.misses === 0) return;
  if (startedMs < state.cutAtMs || startedMs < state.missingFromMs) return;
  if (state.misses >= MISSES_MAX) endDrought(state, nowMs, startedMs - state.missingFromMs);
  state.misses = 0;
  state.probeDue = 0;
}

/**
 * Takes note of a try that the service refused (429, 503, `RateLimitedError`).
 * @param state - changed.
 * @param nowMs - when it ended.
 * @param startedMs - when it started.
 * @param retryAfterMs - how long the service asked to be left alone, if it did.
 */
export function onThrottle(
  state: CongestionState,
  nowMs: number,
  startedMs: number,
  retryAfterMs?: number,
): void {
  moveOn(state, nowMs);
  grow(state, nowMs);
  state.slot0 -= 1;
  const afterPause = state.frozenForMs > 0 && nowMs - (state.frozenAtMs + state.frozenForMs) < EPOCH_MS;
  if (retryAfterMs !== undefined && retryAfterMs > 0) freeze(state, nowMs, retryAfterMs);
  if (state.rps === 0) {
    // Without a second of history the number is that of a first burst, and only a guess at what the service takes.
    const guessed = state.slot3 + state.slot4 <= 0;
    state.rps = Math.max(RPS_MIN, acceptedPerSecond(state, nowMs));
    cut(state, nowMs, KEPT * state.rps);
    if (guessed) state.growth = GROWTH_GUESSING;
    return;
  }
  if (startedMs < state.cutAtMs) return;
  if (state.misses === 0) state.missingFromMs = nowMs;
  // The misses of a drought would outweigh what was accepted before it.
  if (state.misses < MISSES_MAX) state.refused += 1;
  state.misses += 1;
  state.quietFromMs = nowMs;
  if (state.misses >= MISSES_MAX) {
    if (state.misses === MISSES_MAX) state.probeAccepted = acceptedPerSecond(state, nowMs);
    state.probeDue = 1;
    return;
  }
  if (nowMs - state.cutAtMs >= EPOCH_MS) {
    cutToAccepted(state, nowMs, afterPause);
  } else if (state.refused >= EVIDENCE_REFUSED && state.refused * EVIDENCE_PART > state.tries) {
    cutBelow(state, nowMs, state.rps * Math.max(0, 1 - state.refused / state.tries));
  }
}

/**
 * The limit at this moment. A store asks before every start and paces by `rules/gcra.ts` with `defaultBurst`.
 * @param state - changed: recovery is applied when it is asked for.
 * @param nowMs - the present.
 * @param settings - of the resource; a group has none.
 */
export function limitAt(
  state: CongestionState,
  nowMs: number,
  settings: CongestionSettings = {},
): CongestionLimit {
  const { initialRps = 0 } = settings;
  moveOn(state, nowMs);
  if (state.rps === 0 && state.ceilingRps === 0 && initialRps > 0) {
    state.rps = Math.max(RPS_MIN, initialRps);
    state.growth = GROWTH_GUESSING;
    state.grownAtMs = nowMs;
  }
  grow(state, nowMs);
  const frozenUntilMs = state.frozenAtMs + state.frozenForMs;
  if (state.rps === 0) return { rps: undefined, frozenUntilMs };
  return { rps: state.misses >= MISSES_MAX ? trickle(state) : state.rps, frozenUntilMs };
}

/**
 * Whether the rate was learnt from a throttle, and is not only a cautious begin.
 * @param state - looked at only.
 */
export const isLearnt = ({ rps, ceilingRps }: CongestionState): boolean => rps > 0 && ceilingRps > 0;

/**
 * What the service accepted in the last second; tries under way count as accepted.
 * @param state - looked at only, as of its last change.
 * @param nowMs - the present.
 */
export function acceptedPerSecond(state: CongestionState, nowMs: number): number {
  const left = Math.max(0, Math.min(1, 1 - (nowMs - state.slotMs) / SLOT_MS));
  return Math.max(0, state.slot0 + state.slot1 + state.slot2 + state.slot3 + state.slot4 * left);
}

/**
 * What the service accepted in the second before this moment, whenever the last change was.
 * @param state - looked at only.
 * @param nowMs - the present.
 */
export function rateAt(state: CongestionState, nowMs: number): number {
  const now = { ...state };
  moveOn(now, nowMs);
  return acceptedPerSecond(now, nowMs);
}

/** Turns the slots, and takes a clock that was set back for what it is: nothing may wait for times that are gone. */
function moveOn(state: CongestionState, nowMs: number): void {
  state.cutAtMs = Math.min(state.cutAtMs, nowMs);
  state.quietFromMs = Math.min(state.quietFromMs, nowMs);
  state.grownAtMs = Math.min(state.grownAtMs, nowMs);
  state.frozenAtMs = Math.min(state.frozenAtMs, nowMs);
  state.missingFromMs = Math.min(state.missingFromMs, nowMs);
  const slotMs = Math.floor(nowMs / SLOT_MS) * SLOT_MS;
  if (slotMs < state.slotMs || slotMs - state.slotMs > 4 * SLOT_MS) {
    state.slot0 = 0;
    state.slot1 = 0;
    state.slot2 = 0;
    state.slot3 = 0;
    state.slot4 = 0;
    state.slotMs = slotMs;
  }
  while (state.slotMs < slotMs) {
    state.slot4 = state.slot3;
    state.slot3 = state.slot2;
    state.slot2 = state.slot1;
    state.slot1 = state.slot0;
    state.slot0 = 0;
    state.slotMs += SLOT_MS;
  }
}

/** Recovery since it was last applied; a rate that is hardly used proves nothing and does not grow. */
function grow(state: CongestionState, nowMs: number): void {
  const spanMs = nowMs - state.grownAtMs;
  if (state.rps === 0 || spanMs < GROW_EVERY_MS) return;
  state.grownAtMs = nowMs;
  if (state.misses >= MISSES_MAX) return;
  // One more than counted: at a few starts per second a second holds one or none by chance.
  if ((acceptedPerSecond(state, nowMs) + 1) * 2 < state.rps) {
    if (state.ceilingRps > 0 && state.rps > 2 * state.ceilingRps) release(state);
    return;
  }
  if (state.growth < GROWTH_GUESSING) {
    if (isPatient(state, nowMs)) {
      state.quietFromMs = nowMs;
      return;
    }
    if (state.rps >= NEAR * state.ceilingRps && state.rps < state.ceilingRps) {
      state.growth = Math.min(state.growth, GROWTH_NEAR);
      state.quietFromMs = nowMs;
    }
    while (state.growth < GROWTH_MAX && nowMs - state.quietFromMs >= GROWTH_DOUBLES_MS) {
      state.growth = Math.min(GROWTH_MAX, state.growth * 2);
      state.quietFromMs += GROWTH_DOUBLES_MS;
    }
  }
  // Nobody asked for longer than a second: that time was not used.
  state.rps = state.rps * (1 + (state.growth * Math.min(spanMs, 1000)) / 1000);
}

function isPatient(state: CongestionState, nowMs: number): boolean {
  if (state.tries < PATIENCE_STARTS && nowMs - state.cutAtMs < PATIENCE_MAX_MS) return true;
  const waitMs = Math.min(PATIENCE_FROZEN_MAX_MS, PATIENCE_PER_FREEZE * state.frozenForMs);
  return nowMs < state.frozenAtMs + state.frozenForMs + waitMs;
}

function release(state: CongestionState): void {
  state.rps = 0;
  state.growth = GROWTH_MIN;
  state.misses = 0;
  state.probeDue = 0;
}

/** Of several pauses asked for, the one that ends last counts. */
function freeze(state: CongestionState, nowMs: number, forMs: number): void {
  if (nowMs + forMs <= state.frozenAtMs + state.frozenForMs) return;
  state.frozenAtMs = nowMs;
  state.frozenForMs = forMs;
}

function cut(state: CongestionState, nowMs: number, rps: number): void {
  state.ceilingRps = state.rps;
  state.rps = Math.max(RPS_MIN, rps);
  state.growth = Math.max(GROWTH_MIN, state.growth * GROWTH_KEPT);
  state.cutAtMs = nowMs;
  state.quietFromMs = nowMs;
  state.grownAtMs = nowMs;
  state.tries = 0;
  state.refused = 0;
  state.misses = 0;
  state.probeDue = 0;
}

/** In the second after a pause hardly anything was started: what was accepted is no measure, and nothing is a miss. */
function cutToAccepted(state: CongestionState, nowMs: number, afterPause: boolean): void {
  const accepted = acceptedPerSecond(state, nowMs);
  if (!afterPause) cut(state, nowMs, Math.min(state.rps, KEPT * accepted));
  else if (accepted >= 1) cut(state, nowMs, Math.min(state.rps, Math.max(KEPT * accepted, state.rps / 2)));
}

/** After a drop the old rate is no mark to go by. */
function cutBelow(state: CongestionState, nowMs: number, rps: number): void {
  cut(state, nowMs, rps);
  state.ceilingRps = state.rps;
}

/** Something got through again: what was accepted up to its start is what the service takes, unless it was away. */
function endDrought(state: CongestionState, nowMs: number, lastedMs: number): void {
  const rps = KEPT * state.probeAccepted;
  if (lastedMs >= OUTAGE_MS || rps < state.rps * IMPLAUSIBLE) {
    cutBelow(state, nowMs, state.rps / 2);
    state.growth = GROWTH_GUESSING;
  } else if (lastedMs >= DROUGHT_MS) {
    cutBelow(state, nowMs, rps);
  } else {
    state.rps = Math.max(RPS_MIN, Math.min(state.rps, rps));
  }
}

function trickle(state: CongestionState): number {
  let rps = state.rps * TRICKLE;
  for (let misses = state.misses; misses >= 12 && rps > RPS_MIN; misses -= 4) rps /= 2;
  return Math.max(RPS_MIN, rps);
}
