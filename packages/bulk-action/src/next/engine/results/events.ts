import { hasEnded } from '../../../states.js';
import type { Group } from '../state/records.js';
import type { EngineEvent } from '../state/side-writes.js';
import type { EngineState } from '../state/state.js';

/** Events of progress of one group are at least so far apart. */
const PROGRESS_MS = 1_000;

/** Emits an event with the next commit. */
export function emit(state: EngineState, type: EngineEvent['type'], group: Group, jobId?: string): void {
  const { id: groupId, tenant, round, status } = group;
  state.events.push({ type, groupId, tenant: tenant.id, round, status, jobId, atMs: state.nowMs });
}

/** The clock may have gone back. */
const isDue = ({ nowMs }: EngineState, { progressEventMs }: Group): boolean =>
  Math.abs(nowMs - progressEventMs) >= PROGRESS_MS;

/** A job of a group has ended. Says so at once, or when a second has passed since the last time. */
export function noteProgress(state: EngineState, group: Group): void {
  if (group.isProgressDue) return;
  if (isDue(state, group)) {
    group.progressEventMs = state.nowMs;
    emit(state, 'group.progress', group);
    return;
  }
  group.isProgressDue = true;
  state.progressing.push(group);
}

/** Emits the progress that waits, oldest first. */
export function emitDueProgress(state: EngineState): void {
  const { progressing } = state;
  let taken = 0;
  for (const group of progressing) {
    if (!isDue(state, group)) break;
    taken += 1;
    group.isProgressDue = false;
    group.progressEventMs = state.nowMs;
    if (!hasEnded(group.status)) emit(state, 'group.progress', group);
  }
  if (taken > 0) progressing.splice(0, taken);
}
