import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { passCursor } from '../fair/head.js';
import { leaveSeat, refresh } from '../fair/order.js';
import { undoTurn } from '../fair/turn.js';
import { askFor, dropChunk } from '../fair/window.js';
import { keepJobEnd } from '../results/job-end.js';
import type { JobReport } from '../results/report.js';
import { keepLine, keepRound, type RoundMade } from '../results/round.js';
import type { ChargeCorrection, JobOutcome } from '../state/change.js';
import type { Chunk } from '../state/chunks.js';
import { addressOf, type ChunkAddress, firstPosition, queueOfChunk } from '../state/position.js';
import type { Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { beginAggregation, requeueAggregation } from './aggregate.js';
import { watchGroup } from './watch.js';

/** Attempts to add up the results of a round. */
const AGGREGATION_ATTEMPTS = 3;

/** How an attempt ended. */
export interface AttemptEnd extends JobReport {
  readonly correction?: ChargeCorrection | undefined;
}

/** Of jobs that end without an attempt. */
const MESSAGES: Readonly<Record<string, string>> = {
  DEADLINE_EXCEEDED: 'The deadline passed before the job could start',
  ORPHANED: 'Each instance that ran the job died; check whether the job crashes its process, then redrive it',
};

/** Returns the error of a job that ends without an attempt. */
export const errorOf = (code: string) => ({ code, message: MESSAGES[code] });

/** Ends a job that waits at the head of its group. */
export function endHead(state: EngineState, group: Group, outcome: JobOutcome, code: string): void {
  const job = group.head as Job;
  const { position } = job;
  const isDead = outcome === 'FAILED' && (code === 'ORPHANED' || isRedriven(job));
  const report = { durationMs: undefined, error: errorOf(code), isDead };
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
    kept: keepJobEnd(state, job, outcome, report),
    atUs: state.nowUs,
  });
  passCursor(group, job);
  afterEnd(state, group, addressOf(position));
}

/** A job that expires after it was redriven is a dead letter again. */
const isRedriven = ({ group, position }: Job): boolean =>
  group.kept?.redriven.has(addressOf(position)) === true;

/** Ends a job that was in flight. */
export function endJob(state: EngineState, job: Job, outcome: JobOutcome, end: AttemptEnd): void {
  const { group, position } = job;
  decide(state, {
    kind: 'ended',
    group,
    position,
    outcome,
    durationMs: end.durationMs,
    code: end.error?.code,
    correction: end.correction,
    kept: keepJobEnd(state, job, outcome, end),
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
  else if (outcomes.ended >= chunk.jobs) {
    // The lines name the jobs in the compact line.
    if (chunk.isEvicted) {
      askFor(state, group, address);
      return;
    }
    dropChunk(state, group, address);
    unload(group, chunk);
    keepLine(state, group, chunk);
    decide(state, { kind: 'dropped', group, address });
    state.drops.push({ group, address });
  }
}

/** A chunk whose jobs have all ended is not loaded again. */
function unload(group: Group, chunk: Chunk): void {
  const { address } = chunk;
  const queue = group.queueOf(queueOfChunk(address));
  const at = queue.loaded.indexOf(chunk);
  if (at >= 0) {
    queue.loaded.splice(at, 1);
    queue.loadedJobs -= chunk.jobs;
  }
  if (addressOf(queue.cursor) === address) queue.cursor = firstPosition(address + 1);
}

/** Ends the round of a sealed group whose jobs have all ended. That of an open group ends when it has been idle for a while. */
export function completeIfDone(state: EngineState, group: Group): void {
  const { status } = group;
  if (group.done < group.registered || hasEnded(status) || status === 'AGGREGATING') return;
  if (!group.isSealable) watchGroup(state, group);
  else if (group.isSealed) completeRound(state, group);
}

/** Ends the round of a group whose jobs have all ended, once its results are added up. */
export function completeRound(state: EngineState, group: Group): void {
  if (!group.kept?.aggregators.length) endRound(state, group, 'COMPLETED');
  else {
    beginAggregation(state, group);
    watchGroup(state, group);
  }
}

/** An attempt to add up the results of a round failed. The third failure ends the round. */
export function failAggregation(state: EngineState, group: Group, message?: string): void {
  const failures = (group.kept?.aggregation?.failures ?? 0) + 1;
  if (failures < AGGREGATION_ATTEMPTS) requeueAggregation(state, group, failures);
  else endRound(state, group, 'FAILED', 'AGGREGATION_FAILED', { message });
}

/** Ends the round of a group and writes its result. */
export function endRound(
  state: EngineState,
  group: Group,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
  code?: string,
  made?: RoundMade,
): void {
  state.aggregating.delete(group);
  decide(state, { kind: 'moved', group, status, code, round: group.round, atUs: state.nowUs });
  keepRound(state, group, made);
  // Chunks that a new owner has not loaded yet.
  if (status === 'COMPLETED') for (const address of group.outcomes.keys()) dropIfDone(state, group, address);
  watchGroup(state, group);
}

/** Begins the next round of a group that has ended. */
export function beginRound(state: EngineState, group: Group): void {
  const { round } = group;
  decide(state, {
    kind: 'moved',
    group,
    status: 'CREATED',
    code: undefined,
    round: round + 1,
    atUs: state.nowUs,
  });
  watchGroup(state, group);
}

/** Ends the round of a group before its jobs have ended. What runs keeps its slot until its attempt ends. */
export function cutRound(
  state: EngineState,
  group: Group,
  status: 'FAILED' | 'CANCELLED',
  code: string,
): void {
  for (const job of [...group.ready].reverse()) undoTurn(state, job);
  for (const job of group.delayed.values()) state.delayed.remove(job);
  endRound(state, group, status, code);
  if (group.kept?.owed.size) state.owing.add(group);
  group.head = undefined;
  for (const address of group.chunks.keys()) dropChunk(state, group, address);
  for (const queue of group.queues) {
    if (!queue) continue;
    queue.cursor = queue.tail;
    queue.loaded.length = 0;
    queue.loadedJobs = 0;
  }
  refresh(state, group);
}
