import { decide } from '../changes/apply-change.js';
import { passCursor } from '../fair/head.js';
import { leaveSeat, refresh } from '../fair/order.js';
import { lacksProcessor, updateTypes } from '../fair/placement.js';
import { undoTurn, undoTurns } from '../fair/turn.js';
import type { JobBody } from '../state/chunks.js';
import type { Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { requeueJob } from './wait.js';

/** Jobs of a group that wait in non-ready for a processor, at most. The others wait in their queues. */
const UNPROCESSED_MAX = 64;
/** An announcement of the type comes before that. */
const NEVER_MS = 100 * 365 * 86_400_000;

/** An instance has come, gone or changed: jobs without a processor may have one now. */
export function onInstancesChanged(state: EngineState): void {
  const isNew = updateTypes(state);
  // They became ready while there was no instance at all, or while another one had their type.
  const lacking = state.ready.filter(
    ({ place, body }) => place === 'READY' && lacksProcessor(state, body?.type ?? ''),
  );
  undoTurns(state, lacking);
  if (!isNew) return;
  for (const group of state.unprocessed) bringBack(state, group);
}

function bringBack(state: EngineState, group: Group): void {
  const waiting = [...group.delayed.values()].filter(({ reason }) => reason === 'NO_PROCESSOR');
  const found = waiting.filter(({ body }) => body === undefined || state.types.has(body.type));
  for (const job of found) requeueJob(state, job, { attempt: job.attempt, orphans: 0 });
  if (found.length === waiting.length) state.unprocessed.delete(group);
  if (found.length > 0) group.lacking = undefined;
  refresh(state, group);
}

/** Sends the head of a group to non-ready until an instance announces its type. */
export function sendToNonReady(state: EngineState, group: Group): void {
  const head = group.head as Job;
  const { position, body, attempt, retryCount, orphanCount } = head;
  if (group.delayed.size >= UNPROCESSED_MAX) {
    group.lacking = (body as JobBody).type;
    state.unprocessed.add(group);
    refresh(state, group);
    return;
  }
  passReady(state, group);
  group.head = undefined;
  leaveSeat(group);
  const dueMs = state.nowMs + NEVER_MS;
  const counts = { attempt, retryCount, orphanCount };
  decide(state, {
    kind: 'delayed',
    group,
    position,
    ...counts,
    correction: undefined,
    reason: 'NO_PROCESSOR',
    dueMs,
    backoffMs: undefined,
    throttledBy: undefined,
  });
  const job = group.delayed.get(position) as Job;
  job.body = body;
  state.delayed.put(job);
  state.unprocessed.add(group);
  passCursor(group, head);
  refresh(state, group);
}

/** Jobs of a queue leave it in order: those that are ready go to the front before a later one leaves. */
function passReady(state: EngineState, group: Group): void {
  const before = group.ready.filter(({ isFromFront }) => !isFromFront);
  if (before.length === 0) return;
  const { head } = group;
  for (const job of [...group.ready].reverse()) undoTurn(state, job);
  for (const job of before) {
    requeueJob(state, job, { attempt: job.attempt, orphans: 0 });
    passCursor(group, job);
  }
  group.head = head;
}
