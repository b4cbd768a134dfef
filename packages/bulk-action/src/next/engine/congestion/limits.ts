import { defaultBurst, emissionUs, nextSlotUs } from '@millrace/foundation';
import { limitAt } from '../../../rules/congestion.js';
import { concurrencyAt } from '../../../rules/vegas.js';
import type { Group, Resource, Slowness } from '../state/records.js';
import type { Rate } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

/** Brings the learnt limits of a resource up to this moment. A resource that anything limits has a line of its own. */
export function updateLimits(state: EngineState, resource: Resource): void {
  const { congestion, vegas, settings } = resource;
  let isLearnt = false;
  if (state.config.congestion.enabled) {
    const { rps, frozenUntilMs } = limitAt(congestion, state.nowMs, settings);
    resource.learnt = rateAt(state, resource.learnt, rps, frozenUntilMs);
    resource.frozenUntilMs = frozenUntilMs;
    if (vegas) resource.learntConcurrency = concurrencyAt(vegas, state.nowMs);
    isLearnt = vegas !== undefined || rps !== undefined || frozenUntilMs > state.nowMs;
  }
  const { rate, concurrency, isPaused } = resource;
  resource.isLimited = isLearnt || isPaused || rate !== undefined || concurrency !== undefined;
  if (resource.isLimited) state.limited.add(resource);
}

/**
 * Returns the bucket of a learnt rate. A new one is empty, because the service has just had its burst. So is one after a
 * pause: else all that waited would come back at once.
 */
function rateAt(
  { nowUs, nowMs, config }: EngineState,
  before: Rate | undefined,
  rps: number | undefined,
  frozenUntilMs: number,
): Rate | undefined {
  if (rps === undefined) return undefined;
  const burst = defaultBurst(rps);
  const rate = before ?? {
    rps,
    burst,
    tatUs: nowUs + burst * emissionUs(rps),
    costMax: config.limits.costMax,
  };
  rate.rps = rps;
  rate.burst = burst;
  if (frozenUntilMs > nowMs)
    rate.tatUs = Math.max(rate.tatUs, frozenUntilMs * 1000 + burst * emissionUs(rps));
  return rate;
}

/** Brings the limits that a service sets for one group up to this moment. They end when nothing is left of them. */
export function updateSlowness(state: EngineState, group: Group): void {
  const { slow } = group;
  if (!slow) return;
  const { rps, frozenUntilMs } = limitAt(slow.congestion, state.nowMs);
  slow.rate = rateAt(state, slow.rate, rps, frozenUntilMs);
  slow.frozenUntilMs = frozenUntilMs;
  const isOver = rps === undefined && frozenUntilMs <= state.nowMs;
  if (isOver || !isOwn(slow)) endSlowness(state, group);
}

/** The group is slowed like all others from now on. */
export function endSlowness(state: EngineState, group: Group): void {
  group.slow = undefined;
  state.slowed.delete(group);
}

/** Reports whether a slowness is still that of one group, and all have not been slowed together since. */
export const isOwn = ({ resource, flips }: Slowness): boolean => resource.flips === flips;

/** Returns when a group has its token for a job of this cost, its own and the one that a service leaves it. */
export function groupSlotUs(state: EngineState, group: Group, cost: number): number {
  const slotUs = group.slotUs(state.nowUs, cost);
  if (!group.slow) return slotUs;
  updateSlowness(state, group);
  return group.slow ? Math.max(slotUs, slowSlotUs(state, group, group.slow, cost)) : slotUs;
}

function slowSlotUs({ nowUs }: EngineState, { readyCost }: Group, slow: Slowness, cost: number): number {
  const slotUs = slow.rate ? nextSlotUs(slow.rate, nowUs, cost, readyCost) : 0;
  return Math.max(slotUs, slow.frozenUntilMs * 1000);
}
