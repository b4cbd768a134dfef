import { hasEnded } from '../../../states.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/*
 * The watched groups, by the time at which each needs a look. Progress does not move a group: a look that comes too early enters
 * it again, so settlements cost nothing.
 */

/** Enters a group by its next look, or removes it if only a change can end it. */
export function watchGroup(state: EngineState, group: Group): void {
  const lookMs = nextLookMs(state, group);
  if (lookMs === Infinity) {
    state.watched.remove(group);
    return;
  }
  group.watchMs = lookMs;
  state.watched.put(group);
}

function nextLookMs(state: EngineState, group: Group): number {
  if (hasEnded(group.status)) return Infinity;
  const { notBeforeMs = 0, deadlineMs = Infinity } = group;
  if (isIdle(group)) return isHeldOpen(group) ? Infinity : idleUntilMs(state, group);
  const endMs = Math.min(deadlineMs, group.isPaused ? Infinity : quietUntilMs(state, group));
  return notBeforeMs > state.nowMs ? Math.min(notBeforeMs, endMs) : endMs;
}

/** Reports whether a group is open and has no unfinished job: it neither times out nor misses its deadline. */
const isIdle = (group: Group): boolean => !group.isSealable && group.done >= group.registered;

/** Reports whether an idle group has to wait for something else: for its resumption, or for its aggregation. */
const isHeldOpen = ({ isPaused, status }: Group): boolean => isPaused || status === 'AGGREGATING';

/** Returns when the round of an idle group ends. One without jobs waits for its first. */
const idleUntilMs = ({ config }: EngineState, group: Group): number =>
  group.registered === 0 ? Infinity : Math.max(group.progressMs, group.quietFromMs) + config.idleCompleteMs;

/**
 * Returns when a group has been without progress for its timeout. Time before its `notBefore` does not count, nor time in which
 * it, its tenant or the shard was paused.
 */
function quietUntilMs({ shard, nowMs }: EngineState, group: Group): number {
  const { tenant, progressMs, notBeforeMs = 0, timeoutMs } = group;
  if (tenant.isPaused || shard.isPaused) return nowMs + Math.max(1, timeoutMs);
  const sinceMs = Math.max(progressMs, group.quietFromMs, tenant.quietFromMs, shard.quietFromMs, notBeforeMs);
  return sinceMs + timeoutMs;
}

/** Returns what a look at a group finds. */
export function watchFinding(
  state: EngineState,
  group: Group,
): 'DEADLINE_EXCEEDED' | 'GROUP_TIMEOUT' | 'IDLE' | undefined {
  const { nowMs } = state;
  if (isIdle(group)) return !isHeldOpen(group) && idleUntilMs(state, group) <= nowMs ? 'IDLE' : undefined;
  if (group.deadlineMs !== undefined && group.deadlineMs <= nowMs) return 'DEADLINE_EXCEEDED';
  return !group.isPaused && quietUntilMs(state, group) <= nowMs ? 'GROUP_TIMEOUT' : undefined;
}
