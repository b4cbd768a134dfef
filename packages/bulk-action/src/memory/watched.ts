import type { GroupRecord } from './records.js';
import type { MemoryState } from './state.js';

/*
 * When the watcher looks at a group. Every group that has not ended is in the index by the time of its next look. Progress
 * does not move it: a look that finds a group which has moved on enters it again, so settlements cost nothing.
 */

/** Registration, the first start of a job, a settlement: the group moves on. */
export function noteProgress(state: MemoryState, group: GroupRecord): void {
  group.progressAt = state.wallMs;
  group.progressMs = state.nowMs;
}

/** Since when a group that is not paused has made no progress; what it was paused since then is left out. */
const quietSince = ({ progressMs, quietFromMs }: GroupRecord): number => Math.max(progressMs, quietFromMs);

/** The end of a pause: its time does not count, what was quiet before it does. */
export function endQuietPause(state: MemoryState, group: GroupRecord): void {
  group.quietFromMs = state.nowMs - Math.max(0, group.pausedAt - quietSince(group));
}

/** Why a group must not go on; undefined when it may. */
export function overdueCode(
  state: MemoryState,
  group: GroupRecord,
): 'DEADLINE_EXCEEDED' | 'GROUP_TIMEOUT' | undefined {
  if (group.deadline !== undefined && state.wallMs >= group.deadline) return 'DEADLINE_EXCEEDED';
  if (!group.paused && state.nowMs >= quietSince(group) + group.timeoutMs) return 'GROUP_TIMEOUT';
  return undefined;
}

/** Enters a group by its next look, or takes it out when nothing but a change can end it: it is paused and has no deadline. */
export function watchGroup(state: MemoryState, group: GroupRecord): void {
  const timeoutAt = group.paused ? Number.POSITIVE_INFINITY : quietSince(group) + group.timeoutMs;
  const untilDeadline = (group.deadline ?? Number.POSITIVE_INFINITY) - state.wallMs;
  group.lookMs = Math.min(timeoutAt, state.nowMs + untilDeadline);
  if (group.lookMs === Number.POSITIVE_INFINITY) state.watched.remove(group);
  else state.watched.put(group);
}
