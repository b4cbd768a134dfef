import { tatAfterStart } from '@millrace/foundation';
import {
  countActive,
  countRefusal,
  countThrottle,
  standsOut,
  type ThrottleScope,
} from '../../../rules/attribution.js';
import { isLearnt, knownCongestion, onAccepted, onStart, onThrottle } from '../../../rules/congestion.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import { type ThrottleBackoff, throttleBackoff } from '../../../rules/throttle-backoff.js';
import { onLatency, onTimeout } from '../../../rules/vegas.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job, Resource, Slowness } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endSlowness, isOwn, updateLimits, updateSlowness } from './limits.js';
import { noteGroupPoint, noteResourcePoint } from './points.js';

/** Maximum pause. A longer Retry-After is cut to it. */
const RETRY_AFTER_MAX_MS = 86_400_000;
/** A pause that grows by less is not stored at once. */
const PAUSE_STEP_MS = 1_000;
/** Codes of attempts that have not called the service. */
const NOT_CALLED: ReadonlySet<string> = new Set(['PROCESSOR_NOT_FOUND', 'LEASE_LOST']);

/** A refusal by a service. `random` is a number of [0, 1) that spreads the retries of jobs refused together. */
export interface Throttle {
  /** Pause that the service requires, in ms. */
  readonly retryAfterMs?: number | undefined;
  readonly random: number;
}

/** Reports whether a ready job must wait after all: its resource became limited after its turn, or requires a pause. */
export function isHeldBack({ nowMs }: EngineState, { resource, turn }: Job): boolean {
  if (!resource?.isLimited) return false;
  return turn?.seat.line.resource !== resource || resource.frozenUntilMs > nowMs;
}

/** Takes note of a start. It counts as accepted until the service says otherwise. */
export function noteStart(state: EngineState, job: Job): void {
  const { group, resource } = job;
  const { slow, trial } = group;
  const { cost } = job.body as JobBody;
  state.isSmoothingDirty = true;
  if (group.throttled > 0) noteGroupPoint(state, group);
  if (slow?.rate) slow.rate.tatUs = tatAfterStart(slow.rate, state.nowUs, cost);
  if (!resource || !state.config.congestion.enabled) return;
  if (resource.learnt) resource.learnt.tatUs = tatAfterStart(resource.learnt, state.nowUs, cost);
  onStart(resource.congestion, state.nowMs);
  noteResourcePoint(state, resource);
  countActive(resource.attribution, group.stamps, state.nowMs);
  if (slow) onStart(slow.congestion, state.nowMs);
  if (trial?.by === resource.name) trial.starts += 1;
}

/**
 * Takes note of an attempt that ended without being refused, before its slot is free.
 * @param code - of a failure.
 */
export function noteEnd(state: EngineState, job: Job, durationMs: number, code: string | undefined): void {
  const { group, resource, startedMs } = job;
  if (!resource || !state.config.congestion.enabled) return;
  const { vegas, congestion, held } = resource;
  if (vegas && code === undefined) onLatency(vegas, state.nowMs, durationMs, held);
  if (code === 'JOB_TIMEOUT') {
    if (vegas) onTimeout(vegas, state.nowMs);
    return;
  }
  if (code !== undefined && NOT_CALLED.has(code)) return;
  if (congestion.rps > 0) onAccepted(congestion, state.nowMs, startedMs);
  if (group.slow) onAccepted(group.slow.congestion, state.nowMs, startedMs);
}

/** Takes note of an attempt that the service refused: slows the group or the resource. Returns how long the job waits. */
export function noteThrottle(state: EngineState, job: Job, throttle: Throttle): ThrottleBackoff {
  const { group, resource, startedMs } = job;
  const { random } = throttle;
  const retryAfterMs = pauseOf(throttle);
  if (resource && state.config.congestion.enabled) {
    resource.history.pointThrottles += 1;
    if (scopeOfThrottle(state, group, resource, startedMs) === 'resource') {
      if (!isLearnt(resource.congestion)) resource.flips += 1;
      endSlowness(state, group);
      const { learnt, frozenUntilMs: frozenMs } = resource;
      onThrottle(resource.congestion, state.nowMs, startedMs, retryAfterMs);
      updateLimits(state, resource);
      storePause(state, frozenMs, resource);
      // Store a first limit at once: an owner that lives for less than 5 s would pass on nothing. With an owner every 4 s
      // 15.9 % were refused, 3.4 % since.
      if (!learnt) state.smoothingDueMs = state.nowMs;
    } else slowGroup(state, group, resource, startedMs, retryAfterMs);
    noteResourcePoint(state, resource);
    state.isSmoothingDirty = true;
  }
  const facts = { nonReadyCount: group.delayed.size, groupRps: shareOf(state, job), retryAfterMs, random };
  return throttleBackoff(facts, state.config.congestion);
}

const pauseOf = ({ retryAfterMs }: Throttle): number | undefined =>
  retryAfterMs === undefined ? undefined : Math.min(RETRY_AFTER_MAX_MS, Math.ceil(retryAfterMs));

/** Decides whether a refusal slows the group or the resource. */
function scopeOfThrottle(
  state: EngineState,
  group: Group,
  resource: Resource,
  startedMs: number,
): ThrottleScope {
  const spread = countThrottle(resource.attribution, group.stamps, state.nowMs);
  if (!isLearnt(resource.congestion)) return spread;
  const isEvidence = startedMs >= resource.congestion.cutAtMs;
  if (isEvidence) {
    resource.evidence += 1;
    group.trial = countRefusal(group.trial, resource, state.nowMs);
  }
  if (group.slow?.resource === resource && isOwn(group.slow)) return 'group';
  return isEvidence && group.trial && standsOut(group.trial, resource) ? 'group' : 'resource';
}

function slowGroup(
  state: EngineState,
  group: Group,
  resource: Resource,
  startedMs: number,
  retryAfterMs: number | undefined,
): void {
  const { flips } = resource;
  if (!group.slow) {
    const rate = ratePerSecond(group.settledWindow, state.nowMs);
    const congestion = knownCongestion(state.nowMs, rate);
    group.slow = { resource, flips, congestion, rate: undefined, frozenUntilMs: 0 };
    state.slowed.add(group);
  }
  group.slow.resource = resource;
  group.slow.flips = flips;
  const frozenMs = group.slow.frozenUntilMs;
  onThrottle(group.slow.congestion, state.nowMs, startedMs, retryAfterMs);
  updateSlowness(state, group);
  storePause(state, frozenMs, group.slow);
}

/** Stores a pause with the next commit, so that a new owner keeps it. Refusals that agree on its end store it once. */
function storePause(state: EngineState, before: number, { frozenUntilMs }: Resource | Slowness): void {
  const since = Math.max(before, state.nowMs);
  if (frozenUntilMs > since + PAUSE_STEP_MS) state.smoothingDueMs = state.nowMs;
}

/** Returns what a group gets of what its job calls now, in jobs per second. */
function shareOf(state: EngineState, { group, resource }: Job): number {
  if (group.slow?.rate) return group.slow.rate.rps;
  const rps = Math.min(resource?.rate?.rps ?? Infinity, resource?.learnt?.rps ?? Infinity);
  if (!resource || rps === Infinity) return ratePerSecond(group.settledWindow, state.nowMs);
  const { active, activeBefore } = resource.attribution;
  return rps / Math.max(1, active, activeBefore);
}
