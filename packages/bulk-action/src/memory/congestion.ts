import type { Outcome, Throttle } from '../lease.js';
import {
  countActive,
  countRefusal,
  countThrottle,
  standsOut,
  type ThrottleScope,
} from '../rules/attribution.js';
import { isLearnt, knownCongestion, limitAt, onAccepted, onStart, onThrottle } from '../rules/congestion.js';
import { type Bucket, defaultBurst, emissionUs, nextSlotUs, spend } from '../rules/gcra.js';
import { ratePerSecond } from '../rules/rate-window.js';
import { type ThrottleBackoff, throttleBackoff } from '../rules/throttle-backoff.js';
import { concurrencyAt, onLatency, onTimeout } from '../rules/vegas.js';
import { notePointOf, notePointOfGroup } from './congestion-history.js';
import type { GroupRecord, JobRecord, ResourceRecord, Slowness } from './records.js';
import type { MemoryState } from './state.js';

/** Codes of tries that have not called the service. */
const NOT_CALLED: ReadonlySet<string> = new Set(['PROCESSOR_NOT_FOUND', 'LEASE_LOST']);

/** A pause ends with an empty bucket: else everybody would come back at once. */
const tatAfterPause = (untilMs: number, rps: number | undefined): number =>
  rps === undefined ? 0 : untilMs * 1000 + defaultBurst(rps) * emissionUs(rps);

/** Brings the limits of a resource up to this moment. */
export function updateLimits(state: MemoryState, resource: ResourceRecord): void {
  const { settings, congestion, vegas, learntRps } = resource;
  const { rps, frozenUntilMs } = limitAt(congestion, state.nowMs, settings);
  resource.learntRps = rps;
  resource.frozenUntilMs = frozenUntilMs;
  resource.rps = rps === undefined ? settings.rps : Math.min(settings.rps ?? rps, rps);
  if (vegas) resource.concurrency = concurrencyAt(vegas, state.nowMs, settings.concurrency);
  // A limit that has just been learnt begins with an empty bucket: the service has had its burst.
  if (rps !== undefined && learntRps === undefined && resource.rps !== undefined)
    resource.tatUs = state.nowUs + defaultBurst(resource.rps) * emissionUs(resource.rps);
  if (frozenUntilMs > state.nowMs)
    resource.tatUs = Math.max(resource.tatUs, tatAfterPause(frozenUntilMs, resource.rps));
  resource.limited = resource.limitedForGood || rps !== undefined || frozenUntilMs > state.nowMs;
  if (resource.limited) state.limited.add(resource);
}

/** Brings what a service leaves to a group alone up to this moment. */
export function updateSlowness(state: MemoryState, group: GroupRecord): void {
  const { slow } = group;
  if (!slow) return;
  if (!isOwn(state, slow)) {
    group.slow = undefined;
    return;
  }
  const { rps, frozenUntilMs } = limitAt(slow.congestion, state.nowMs);
  slow.rps = rps;
  slow.frozenUntilMs = frozenUntilMs;
  if (rps === undefined && frozenUntilMs <= state.nowMs) group.slow = undefined;
}

/** Whether it is still the group's own: else all who call the service are slowed together since. */
const isOwn = (state: MemoryState, { by, flips }: Slowness): boolean =>
  state.resources.get(by)?.flips === flips;

/** When a group may start a job of this cost as far as the service holds it back alone; changes nothing. */
export function slowSlot(state: MemoryState, group: GroupRecord, cost: number, heldCost: number): number {
  if (!group.slow) return 0;
  const { frozenUntilMs } = group.slow;
  const bucket = slowBucket(state, group);
  const slotUs = bucket ? nextSlotUs(bucket, state.nowUs, cost, heldCost) : 0;
  return Math.max(slotUs, frozenUntilMs > state.nowMs ? frozenUntilMs * 1000 : 0);
}

/** The limiter of a group that a service holds back alone. */
export function slowBucket(state: MemoryState, { slow }: GroupRecord): Bucket | undefined {
  if (slow?.rps === undefined) return undefined;
  const { rps, tatUs } = slow;
  return { rps, burst: defaultBurst(rps), tatUs, costMax: state.config.limits.costMax };
}

/** Whether what it calls became limited after it was let into ready, or wants to be left alone. */
export function isHeldBack(state: MemoryState, job: JobRecord): boolean {
  const called = state.resourceOf(job);
  if (!called?.limited) return false;
  return job.hold?.seat.line.resource !== called || called.frozenUntilMs > state.nowMs;
}

/** A start: it spends what the service lets its group have, and counts as accepted until the service says otherwise. */
export function noteStart(state: MemoryState, job: JobRecord): void {
  const { group } = job;
  if (group.throttled > 0) notePointOfGroup(state, group);
  const bucket = slowBucket(state, group);
  if (bucket && group.slow) group.slow.tatUs = spend(bucket, state.nowUs, job.cost);
  const resource = state.resourceCalled(job);
  if (!resource) return;
  onStart(resource.congestion, state.nowMs);
  resource.starts += 1;
  notePointOf(state, resource);
  countActive(resource.attribution, group.stamps, state.nowMs);
  if (group.slow) onStart(group.slow.congestion, state.nowMs);
  if (group.trial?.by === resource.name) group.trial.starts += 1;
}

/** A try that ended without being throttled. */
export function noteEnd(
  state: MemoryState,
  job: JobRecord,
  { sinceMs, durationMs, outcome }: { sinceMs: number; durationMs: number; outcome: Outcome },
): void {
  const resource = state.resourceCalled(job);
  if (!resource) return;
  if (resource.vegas && outcome.kind === 'success')
    onLatency(resource.vegas, state.nowMs, durationMs, resource.held);
  const code = outcome.kind === 'success' ? undefined : outcome.error.code;
  if (code === 'JOB_TIMEOUT') {
    if (resource.vegas) onTimeout(resource.vegas, state.nowMs);
    return;
  }
  if (code !== undefined && NOT_CALLED.has(code)) return;
  if (resource.congestion.rps > 0) onAccepted(resource.congestion, state.nowMs, sinceMs);
  if (job.group.slow) onAccepted(job.group.slow.congestion, state.nowMs, sinceMs);
}

/**
 * A try that the service refused: slows the group or the resource, and says how long the job has to wait.
 * @param throttle - what the service asked for, and a number of [0, 1) that spreads those who come back.
 */
export function noteThrottle(
  state: MemoryState,
  job: JobRecord,
  sinceMs: number,
  throttle: Throttle,
): ThrottleBackoff {
  const { group } = job;
  const { retryAfterMs, random } = throttle;
  const resource = state.resourceCalled(job);
  if (resource) {
    resource.throttles += 1;
    resource.history.pointThrottles += 1;
    if (scopeOfThrottle(state, group, resource, sinceMs) === 'resource') {
      if (!isLearnt(resource.congestion)) resource.flips += 1;
      group.slow = undefined;
      onThrottle(resource.congestion, state.nowMs, sinceMs, retryAfterMs);
      updateLimits(state, resource);
    } else slowGroup(state, group, resource, { sinceMs, retryAfterMs });
    notePointOf(state, resource);
  }
  const groupRps = shareOf(state, group, resource);
  const facts = { nonReadyCount: group.nonReady, groupRps, retryAfterMs, random };
  return throttleBackoff(facts, state.config.congestion);
}

/** See rules/attribution.ts. */
function scopeOfThrottle(
  state: MemoryState,
  group: GroupRecord,
  resource: ResourceRecord,
  sinceMs: number,
): ThrottleScope {
  const spread = countThrottle(resource.attribution, group.stamps, state.nowMs);
  if (!isLearnt(resource.congestion)) return spread;
  const isEvidence = sinceMs >= resource.congestion.cutAtMs;
  if (isEvidence) {
    resource.evidence += 1;
    group.trial = countRefusal(group.trial, resource, state.nowMs);
  }
  if (group.slow?.by === resource.name && isOwn(state, group.slow)) return 'group';
  return isEvidence && group.trial && standsOut(group.trial, resource) ? 'group' : 'resource';
}

function slowGroup(
  state: MemoryState,
  group: GroupRecord,
  { name: by, flips }: ResourceRecord,
  { sinceMs, retryAfterMs }: { readonly sinceMs: number; readonly retryAfterMs: number | undefined },
): void {
  const isNew = group.slow === undefined;
  const rate = ratePerSecond(group.settledWindow, state.nowMs);
  const congestion = knownCongestion(state.nowMs, rate);
  group.slow ??= { by, flips, congestion, rps: undefined, frozenUntilMs: 0, tatUs: 0 };
  const { slow } = group;
  slow.by = by;
  slow.flips = flips;
  onThrottle(slow.congestion, state.nowMs, sinceMs, retryAfterMs);
  const { rps, frozenUntilMs } = limitAt(slow.congestion, state.nowMs);
  slow.rps = rps;
  slow.frozenUntilMs = frozenUntilMs;
  if (isNew && rps !== undefined) slow.tatUs = state.nowUs + defaultBurst(rps) * emissionUs(rps);
  if (frozenUntilMs > state.nowMs) slow.tatUs = Math.max(slow.tatUs, tatAfterPause(frozenUntilMs, rps));
}

/** What a group gets of the service now, jobs per second. */
function shareOf(state: MemoryState, group: GroupRecord, resource: ResourceRecord | undefined): number {
  if (group.slow?.rps !== undefined) return group.slow.rps;
  if (resource?.rps === undefined) return ratePerSecond(group.settledWindow, state.nowMs);
  const { active, activeBefore } = resource.attribution;
  return resource.rps / Math.max(1, active, activeBefore);
}
