import { hasEnded } from '../../../states.js';
import { decide } from '../changes/decide.js';
import { askFor } from '../fair/head.js';
import { leaveSeat, refresh } from '../fair/order.js';
import { undoTurn } from '../fair/turn.js';
import type { ChargeCorrection, JobOutcome } from '../state/change.js';
import { addressOf, type ChunkAddress } from '../state/position.js';
import type { Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** How an attempt ended. */
export interface AttemptEnd {
  readonly durationMs: number;
  readonly code?: string | undefined;
  readonly correction?: ChargeCorrection | undefined;
}

/** Ends a job that waits at the head of its group. */
export function endHead(state: EngineState, group: Group, outcome: JobOutcome, code: string): void {
  const { position } = group.head as Job;
  group.head = undefined;
  leaveSeat(group);
  decide(state, {
    kind: 'ended',
    group,
    position,
    outcome,
    durationMs: undefined,
    code,
    correction: undefined,
    atUs: state.nowUs,
  });
  const queue = group.queues.find((each) => each && each.cursor === position);
  if (queue) queue.cursor += 1;
  afterEnd(state, group, addressOf(position));
}

/** Ends a job that was in flight. */
export function endJob(state: EngineState, job: Job, outcome: JobOutcome, end: AttemptEnd): void {
  const { group, position } = job;
  decide(state, {
    kind: 'ended',
    group,
    position,
    outcome,
    durationMs: end.durationMs,
    code: end.code,
    correction: end.correction,
    atUs: state.nowUs,
  });
  afterEnd(state, group, addressOf(position));
}

/** A job has ended: its chunk and its group may have as well. */
function afterEnd(state: EngineState, group: Group, address: ChunkAddress): void {
  dropIfDone(state, group, address);
  completeIfDone(state, group);
  refresh(state, group);
}

/** Drops a chunk whose jobs have all ended. Only the loaded chunk knows how many there are. */
export function dropIfDone(state: EngineState, group: Group, address: ChunkAddress): void {
  const outcomes = group.outcomes.get(address);
  if (!outcomes) return;
  const chunk = group.chunks.get(address);
  if (!chunk) askFor(state, group, address);
  else if (outcomes.ended >= chunk.lines.length) {
    group.chunks.delete(address);
    decide(state, { kind: 'dropped', group, address });
    state.drops.push({ group, address });
  }
}

/** Ends the round of a sealed group whose jobs have all ended. */
export function completeIfDone(state: EngineState, group: Group): void {
  if (!group.isSealable || !group.isSealed || hasEnded(group.status)) return;
  if (group.done < group.registered) return;
  moveGroup(state, group, 'COMPLETED');
}

/** Changes the status of a group. */
function moveGroup(state: EngineState, group: Group, status: Group['status'], code?: string): void {
  decide(state, { kind: 'moved', group, status, code, round: group.round, atUs: state.nowUs });
}

/** Ends the round of a group before its jobs have ended. What runs keeps its slot until its attempt ends. */
export function cutRound(
  state: EngineState,
  group: Group,
  status: 'FAILED' | 'CANCELLED',
  code: string,
): void {
  for (const job of [...group.ready].reverse()) undoTurn(state, job);
  moveGroup(state, group, status, code);
  group.head = undefined;
  group.chunks.clear();
  for (const queue of group.queues) {
    if (!queue) continue;
    queue.cursor = queue.tail;
    queue.loaded.length = 0;
  }
  refresh(state, group);
}
