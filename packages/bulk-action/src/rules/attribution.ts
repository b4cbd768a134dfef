/*
 * Who is slowed by a throttle: a service that limits each customer refuses one of them, a service that is overloaded refuses
 * many. Distinct groups are counted per epoch with a stamp in each group, so a settlement costs O(1) and nothing is listed.
 *
 *   no rate learnt yet ── refused: few groups ──▶ each of them alone
 *                      ── refused: many groups ─▶ the resource, and who was slowed before is free again
 *   a rate was learnt ─── refused ─▶ the resource, unless the group stands out: it alone is refused again and again
 *
 * Once a resource is held near its capacity, refusals come one by one. To count groups anew for each of them would blame one
 * group after the other and let the resource grow: with 40 groups that was 9 % refused, with two 19 % of the goodput lost.
 */

/** What a resource keeps: distinct groups of the running epoch and of the one before. */
export interface AttributionState {
  /** Number of the running epoch. */
  epoch: number;
  active: number;
  throttled: number;
  activeBefore: number;
  throttledBefore: number;
}

/** What a group keeps for a resource: the epochs in which it was last counted. */
export interface AttributionStamps {
  activeEpoch: number;
  throttledEpoch: number;
}

/** Who is slowed. */
export type ThrottleScope = 'group' | 'resource';

const EPOCH_MS = 1000;
const GROUPS_LEAST = 3;
const GROUPS_PART = 0.3;

/** A group's refusals beside those of all others, counted from one of its refusals on. */
export interface TrialState {
  /** The resource. */
  readonly by: string;
  readonly fromMs: number;
  /** Calls of the group since then, and those of them that were refused. */
  starts: number;
  refused: number;
  /** Calls of all groups when it began, and those that had been refused. */
  readonly startsBefore: number;
  readonly refusedBefore: number;
}

/** All calls of a resource, and the refusals of those that began after the last cut: others were sent at an older rate. */
export interface ResourceCalls {
  readonly name: string;
  readonly starts: number;
  readonly evidence: number;
}

/** How long refusals are counted before the count begins again. */
const TRIAL_MS = 10_000;
/** Fewer refusals, or fewer that the others should have had, say nothing. */
const TRIAL_REFUSED = 3;
const TRIAL_EXPECTED = 8;
/** The others are refused less than this part of what they should be if all were refused alike. */
const OTHERS_PART = 0.1;

/** Nobody seen yet. */
export const newAttribution = (): AttributionState => ({
  epoch: 0,
  active: 0,
  throttled: 0,
  activeBefore: 0,
  throttledBefore: 0,
});

/** Counted in no epoch. */
export const newStamps = (): AttributionStamps => ({ activeEpoch: 0, throttledEpoch: 0 });

/**
 * How many groups must have met throttles for the resource to be the cause: min(active, max(3, 30 % of them)).
 * @param activeGroups - groups that called the resource lately.
 */
export const groupsForResource = (activeGroups: number): number =>
  Math.min(activeGroups, Math.max(GROUPS_LEAST, GROUPS_PART * activeGroups));

/**
 * Whether throttles are the groups' own or the resource's.
 * @param throttledGroups - groups that met one.
 * @param activeGroups - groups that called the resource lately.
 */
export const scopeOf = (throttledGroups: number, activeGroups: number): ThrottleScope =>
  throttledGroups >= groupsForResource(activeGroups) ? 'resource' : 'group';

/**
 * Counts a group as active. A store calls it with every start: else the first refusals of a burst would come from
 * the only group that was ever heard of.
 * @param state - of the resource, changed.
 * @param stamps - of the group, changed.
 * @param nowMs - when.
 */
export function countActive(state: AttributionState, stamps: AttributionStamps, nowMs: number): void {
  turnEpoch(state, nowMs);
  if (stamps.activeEpoch === state.epoch) return;
  stamps.activeEpoch = state.epoch;
  state.active += 1;
}

/**
 * Counts a throttled try of a group.
 * @param state - of the resource, changed.
 * @param stamps - of the group, changed.
 * @param nowMs - when.
 * @returns who is to be slowed for it.
 */
export function countThrottle(
  state: AttributionState,
  stamps: AttributionStamps,
  nowMs: number,
): ThrottleScope {
  countActive(state, stamps, nowMs);
  if (stamps.throttledEpoch !== state.epoch) {
    stamps.throttledEpoch = state.epoch;
    state.throttled += 1;
  }
  // The epoch before counts until this one has seen more: else its first throttles always looked like one group's.
  const throttled = Math.max(state.throttled, state.throttledBefore);
  return scopeOf(throttled, Math.max(state.active, state.activeBefore));
}

/**
 * Counts a refusal of a group beside those of the others.
 * @param trial - of the group, changed; undefined = there is none yet.
 * @param calls - of the resource, this refusal included.
 * @param nowMs - when.
 * @returns the trial to keep: the same, or a new one when that is over or was of another resource.
 */
export function countRefusal(trial: TrialState | undefined, calls: ResourceCalls, nowMs: number): TrialState {
  const { name: by, starts: startsBefore, evidence: refusedBefore } = calls;
  const ageMs = trial ? nowMs - trial.fromMs : 0;
  if (!trial || trial.by !== by || ageMs < 0 || ageMs >= TRIAL_MS)
    return { by, fromMs: nowMs, starts: 0, refused: 0, startsBefore, refusedBefore };
  trial.refused += 1;
  return trial;
}

/**
 * Whether a group is refused again and again while the others are not.
 * @param trial - of the group.
 * @param calls - of the resource.
 */
export function standsOut(trial: TrialState, { starts, evidence }: ResourceCalls): boolean {
  if (trial.refused < TRIAL_REFUSED) return false;
  const others = starts - trial.startsBefore - trial.starts;
  const othersRefused = evidence - trial.refusedBefore - trial.refused;
  const expected = (trial.refused * others) / Math.max(trial.starts, trial.refused);
  return expected >= TRIAL_EXPECTED && othersRefused < OTHERS_PART * expected;
}

/** Epochs begin at 1, so that the 0 of new stamps is none; one that is not the next, or lies back, ends both counts. */
function turnEpoch(state: AttributionState, nowMs: number): void {
  const epoch = Math.floor(nowMs / EPOCH_MS) + 1;
  if (epoch === state.epoch) return;
  const follows = epoch === state.epoch + 1;
  state.activeBefore = follows ? state.active : 0;
  state.throttledBefore = follows ? state.throttled : 0;
  state.active = 0;
  state.throttled = 0;
  state.epoch = epoch;
}
