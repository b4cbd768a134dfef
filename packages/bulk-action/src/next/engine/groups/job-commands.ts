import { leaveSeat, refresh } from '../fair/order.js';
import { undoTurns } from '../fair/turn.js';
import { askFor } from '../fair/window.js';
import { outcomeAt } from '../format/line.js';
import { endJob } from '../run/end.js';
import { abortJobs, DONE, type Effect, ENDED, NOT_FOUND } from '../run/recall.js';
import { requeueJob } from '../run/wait.js';
import { addressOf, indexOf, type Position, queueOf } from '../state/position.js';
import { type Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** A command for one job, which the caller has looked up by its id. */
export interface JobCommand {
  readonly kind: 'cancel-job' | 'run-job';
  readonly groupId: string;
  readonly position: Position;
}

/** Ends a job that waits. One that runs ends at once too: its attempt is aborted, and its settlement is late. */
export function cancelJob(state: EngineState, group: Group, position: Position): Effect {
  const job = findJob(state, group, position);
  if (!(job instanceof Job)) return job;
  const recalls = abortJobs(state, job.place === 'IN_FLIGHT' ? [job] : []);
  state.delayed.remove(job);
  leaveQueue(group, position);
  endJob(state, job, 'CANCELLED', { durationMs: undefined });
  return { ...DONE, recalls };
}

/** Gives a job that waits the next turn of its group. In an ordered group no job passes those before it. */
export function runJobNow(state: EngineState, group: Group, position: Position): Effect {
  const job = findJob(state, group, position);
  if (!(job instanceof Job)) return job;
  if (job.place === 'IN_FLIGHT') return DONE;
  if (group.isOrdered && job.place !== 'DELAYED')
    return group.head?.position === position ? DONE : { result: { kind: 'refused', code: 'ORDERED' } };
  leaveSeat(group);
  leaveQueue(group, position);
  requeueJob(state, job, { attempt: job.attempt, orphans: 0, isFirst: true });
  refresh(state, group);
  return DONE;
}

/** The next turn of a group is found anew, without a job that leaves its queue. */
function leaveQueue(group: Group, position: Position): void {
  const queue = group.queueOf(queueOf(position));
  if (queue.cursor === position) queue.cursor += 1;
  group.head = undefined;
}

/**
 * Reports whether what an entry of the inbox names is loaded. Only the chunk of a queued job tells if there is such a job: asks for
 * it if it is missing.
 */
export function isFound(
  state: EngineState,
  entry: { readonly kind: string; readonly command?: unknown },
): boolean {
  const { kind, groupId, position } = (entry.command ?? entry) as JobCommand;
  if (kind !== 'cancel-job' && kind !== 'run-job') return true;
  const group = state.groups.get(groupId);
  const queue = group?.queues[queueOf(position)];
  if (!group || !queue || position < queue.next || position >= queue.tail) return true;
  if (group.chunks.has(addressOf(position))) return true;
  askFor(state, group, addressOf(position));
  return false;
}

/** Returns a job that has not ended, wherever it is. The turns of ready jobs are undone. */
function findJob(state: EngineState, group: Group, position: Position): Job | Effect {
  const queue = group.queues[queueOf(position)];
  if (!queue || position >= queue.tail) return NOT_FOUND;
  const address = addressOf(position);
  const chunk = group.chunks.get(address);
  if (chunk && chunk.jobs <= indexOf(position)) return NOT_FOUND;
  const running = group.inFlight.get(position);
  if (running) return running;
  undoTurns(state, group.ready);
  const waiting = group.delayed.get(position) ?? group.front.find((job) => job.position === position);
  if (waiting) return waiting;
  const outcomes = group.outcomes.get(address);
  const hasEnded = outcomes && outcomeAt(outcomes, indexOf(position)) !== undefined;
  if (hasEnded || position < queue.next) return ENDED;
  return new Job(group, position);
}
