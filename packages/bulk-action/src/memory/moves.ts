import { ERRORS as FOUNDATION_ERRORS } from '@millrace/foundation';
import { FAILED_TRIES_KEPT } from '../ports.js';
import { countFailure } from '../rules/failure-codes.js';
import { recordDuration } from '../rules/histogram.js';
import { countEvents } from '../rules/rate-window.js';
import { hasEnded, type NonReadyReason } from '../states.js';
import { completeIfDone } from './ending.js';
import { endIdleEpochs, endTurn, forgetParking, refresh, takeTurn } from './fair-queue.js';
import type { Flight, GroupRecord, JobRecord } from './records.js';
import type { MemoryState } from './state.js';
import { noteProgress } from './watched.js';

/*
 * The arrows between the places of a job. Every counter is changed here and where a round ends, nowhere else, together
 * with the entry it counts.
 */

/** Subscribers want to see a group move, not every one of its jobs. */
const PROGRESS_EVENT_EVERY_MS = 1000;

/** Whether the round of a job is still going on; else it is cancelled, wherever its entry lies. */
export const isLive = ({ round, group }: JobRecord): boolean =>
  round === group.round && !hasEnded(group.status);

/** The earlier of the job's and the group's deadline. */
export const deadlineOf = (job: JobRecord): number | undefined => {
  const { deadline } = job.group;
  if (job.deadline === undefined) return deadline;
  return deadline === undefined ? job.deadline : Math.min(job.deadline, deadline);
};

/** Whether a job must not start any more. */
export const isOverdue = (state: MemoryState, job: JobRecord): boolean => {
  const deadline = deadlineOf(job);
  return deadline !== undefined && state.wallMs >= deadline;
};

/** Takes a job out of the place it is in. From lane and ready its entry has been taken, or is left to be skipped. */
function leave(state: MemoryState, job: JobRecord): void {
  const { group } = job;
  const tenant = group.owner;
  const live = isLive(job);
  switch (job.place) {
    case 'LANE':
      tenant.laneJobs -= 1;
      state.laneJobs -= 1;
      break;
    case 'READY':
      group.readyCost -= job.cost;
      tenant.readyCost -= job.cost;
      state.readyCost -= job.cost;
      countResource(job, -job.cost);
      state.readyJobs -= 1;
      if (live) group.ready -= 1;
      break;
    case 'NON_READY':
      state.nonReady.remove(job);
      if (job.reason) state.nonReadyByReason[job.reason] -= 1;
      job.reason = undefined;
      if (live) group.nonReady -= 1;
      break;
    case 'IN_FLIGHT':
      state.flights.remove(job);
      forgetSuspect(state, job);
      job.flight = undefined;
      group.running -= 1;
      tenant.running -= 1;
      if (live) group.inFlight -= 1;
      if (live) tenant.inFlight -= 1;
      return;
    default:
      return;
  }
  if (live) countPending(state, job, -1);
}

/** A job whose turn came in the line of a limited resource. */
function countResource({ hold }: JobRecord, cost: number): void {
  const resource = hold?.seat.line.resource;
  if (resource) resource.readyCost += cost;
}

function forgetSuspect(state: MemoryState, { flight }: JobRecord): void {
  const instance = flight?.suspect ? state.instances.get(flight.instanceId) : undefined;
  if (instance && instance.suspects > 0) instance.suspects -= 1;
}

function countPending(state: MemoryState, { group }: JobRecord, by: 1 | -1): void {
  group.pending += by;
  group.owner.pending += by;
  state.pending += by;
}

/** To the head of its lane: it has waited its time there already. */
function returnToLane(state: MemoryState, job: JobRecord): void {
  leave(state, job);
  enterLane(state, job, 'head');
  // Another job is first now: it may have its token though the one before had none.
  forgetParking(state, job.group);
}

function enterLane(state: MemoryState, job: JobRecord, end: 'head' | 'tail'): void {
  const { group } = job;
  job.place = 'LANE';
  if (end === 'head') group.lane.unshift(job);
  else group.lane.push(job);
  if (group.lane.size === 1) state.laneGroups += 1;
  group.owner.laneJobs += 1;
  state.laneJobs += 1;
  countPending(state, job, 1);
}

/** Takes the entry of a job from the head of its lane; `leave` takes the job itself out. */
function shiftLane(state: MemoryState, { lane }: GroupRecord): void {
  lane.shift();
  if (lane.size === 0) state.laneGroups -= 1;
}

/** A new or redriven job, which is in no place yet. */
export function joinLane(state: MemoryState, job: JobRecord): void {
  job.waitingSinceMs = state.nowMs;
  enterLane(state, job, 'tail');
  if (job.group.lane.size === 1) refresh(state, job.group);
}

/** The first job of a lane whose turn it is. */
export function laneToReady(state: MemoryState, job: JobRecord): void {
  const { group } = job;
  const tenant = group.owner;
  takeTurn(state, job);
  shiftLane(state, group);
  leave(state, job);
  job.place = 'READY';
  group.readyCost += job.cost;
  tenant.readyCost += job.cost;
  state.readyCost += job.cost;
  countResource(job, job.cost);
  state.readyJobs += 1;
  group.ready += 1;
  countPending(state, job, 1);
  state.ready.push(job);
  refresh(state, group);
  state.ring('work');
}

/** Back to the head of its lane without having run: its turn costs nothing. */
export function readyToLane(state: MemoryState, job: JobRecord): void {
  returnToLane(state, job);
  endTurn(state, job, 0);
}

/** Out of flight and back to the head of its lane: the try is over, and its turn was used. */
export function flightToLane(state: MemoryState, job: JobRecord): void {
  const since = job.flight?.sinceMs ?? state.nowMs;
  job.waitingSinceMs = state.nowMs;
  returnToLane(state, job);
  endTurn(state, job, measured(state, state.nowMs - since));
}

/** A due job, before it goes through the gate. */
export function nonReadyToLane(state: MemoryState, job: JobRecord): void {
  job.waitingSinceMs = Math.min(state.nowMs, job.dueMs);
  returnToLane(state, job);
  refresh(state, job.group);
}

/** Under a lease. */
export function readyToFlight(state: MemoryState, job: JobRecord, flight: Flight): void {
  leave(state, job);
  job.place = 'IN_FLIGHT';
  job.flight = flight;
  job.group.running += 1;
  job.group.inFlight += 1;
  job.group.owner.running += 1;
  job.group.owner.inFlight += 1;
  state.flights.put(job);
}

/**
 * Waits outside the fair queue until it is due, but not past its deadline: there it has to fail.
 * @param real - what its turn should have been charged: see `endTurn`.
 */
export function enterNonReady(
  state: MemoryState,
  job: JobRecord,
  reason: NonReadyReason,
  delayMs: number,
  real?: number,
): void {
  const { group } = job;
  if (job.place === 'LANE') shiftLane(state, group);
  leave(state, job);
  job.place = 'NON_READY';
  const deadline = deadlineOf(job);
  const untilDeadline = deadline === undefined ? delayMs : Math.max(0, deadline - state.wallMs);
  job.dueMs = state.nowMs + Math.min(delayMs, untilDeadline);
  job.reason = reason;
  state.nonReadyByReason[reason] += 1;
  group.nonReady += 1;
  countPending(state, job, 1);
  state.nonReady.put(job);
  if (state.nonReady.peek() === job) state.ring('dispatch');
  if (job.hold) endTurn(state, job, real);
  else refresh(state, group);
  endIdleEpochs(state, group.owner);
}

/** A new job that is to start later, which is in no place yet. */
export function joinNonReady(state: MemoryState, job: JobRecord, delayMs: number): void {
  job.place = 'DONE';
  enterNonReady(state, job, 'SCHEDULED', delayMs);
}

/** A try that failed, among the last few that are kept. */
export function keepFailedTry(
  state: MemoryState,
  job: JobRecord,
  ms: number,
  error: { readonly code: string; readonly message: string },
): void {
  job.failedTries = [
    ...(job.failedTries ?? []).slice(1 - FAILED_TRIES_KEPT),
    { at: state.wallMs, ms, code: error.code, message: error.message },
  ];
}

/** What a turn really cost when it is charged by time; undefined leaves the charge. Nothing is free: at least 1 ms. */
export function measured(state: MemoryState, durationMs: number): number | undefined {
  return state.config.fairQueue.charge === 'time' ? Math.max(1, durationMs) : undefined;
}

/** The end of a job that succeeded. Without its payload: that is what makes a group of 200,000 small. */
export function succeed(state: MemoryState, job: JobRecord, durationMs: number): void {
  job.payload = undefined;
  job.outcome = 'COMPLETED';
  end(state, job, durationMs, () => {
    job.group.success += 1;
  });
}

/** The end of a job that failed for good. */
export function fail(
  state: MemoryState,
  job: JobRecord,
  error: { readonly code: string; readonly message: string },
  options: { readonly durationMs: number; readonly deadSignature?: string | undefined },
): void {
  const { group } = job;
  const { durationMs, deadSignature } = options;
  job.outcome = 'FAILED';
  const wasInFlight = job.place === 'IN_FLIGHT';
  if (wasInFlight) keepFailedTry(state, job, durationMs, error);
  const { failedDetailsMaxCount } = state.config.aggregator;
  end(state, job, wasInFlight ? durationMs : undefined, () => {
    group.failed += 1;
    group.failedByCode ??= new Map();
    countFailure(group.failedByCode, error.code);
    if (group.failedJobs.length < failedDetailsMaxCount)
      group.failedJobs.push({ jobId: job.id, code: error.code, message: error.message });
    if (deadSignature === undefined) return;
    job.place = 'DEAD';
    keepDeadLetter(state, job, error, deadSignature);
    state.tell('job.dead', group, job.id);
  });
}

/** A job whose deadline has passed before it could start: the first of its lane, or one that was ready or due. */
export function failOverdue(state: MemoryState, job: JobRecord): void {
  const { group } = job;
  if (job.place === 'LANE') shiftLane(state, group);
  const deadline = new Date(deadlineOf(job) ?? 0).toISOString();
  const { code, message } = FOUNDATION_ERRORS.create('DEADLINE_EXCEEDED', { deadline });
  fail(state, job, { code, message }, { durationMs: 0 });
}

/** The end of a job whose round ended without it: counted there already. */
export function bury(state: MemoryState, job: JobRecord): void {
  const since = job.flight?.sinceMs;
  // The lane went as a whole when the round ended, with all that counted it.
  if (job.place !== 'LANE') leave(state, job);
  job.place = 'DONE';
  job.outcome = 'CANCELLED';
  job.endedAt = state.wallMs;
  job.payload = undefined;
  endTurn(state, job, since === undefined ? 0 : measured(state, state.nowMs - since));
}

function end(state: MemoryState, job: JobRecord, durationMs: number | undefined, count: () => void): void {
  const { group } = job;
  leave(state, job);
  job.place = 'DONE';
  job.endedAt = state.wallMs;
  noteProgress(state, group);
  if (durationMs !== undefined) recordDuration(group.durations, durationMs);
  countEvents(group.settledWindow, state.nowMs, 1);
  count();
  if (state.nowMs - group.progressEventAt >= PROGRESS_EVENT_EVERY_MS) {
    group.progressEventAt = state.nowMs;
    state.tell('group.progress', group);
  }
  if (job.hold) endTurn(state, job, durationMs === undefined ? 0 : measured(state, durationMs));
  else refresh(state, group);
  endIdleEpochs(state, group.owner);
  completeIfDone(state, group);
}

function keepDeadLetter(
  state: MemoryState,
  job: JobRecord,
  error: { readonly code: string; readonly message: string },
  signature: string,
): void {
  state.deadLetters.add({
    seq: state.nextSeq(),
    group: job.group,
    jobId: job.id,
    record: job,
    processorType: job.processorType,
    payload: job.payload ?? 'null',
    cost: job.cost,
    charge: job.charge,
    notBefore: job.notBefore,
    deadline: job.deadline,
    traceparent: job.traceparent,
    createdAt: job.createdAt,
    startedAt: job.startedAt,
    attempts: job.attempts,
    retryCount: job.retryCount,
    orphanCount: job.orphanCount,
    failedTries: job.failedTries ?? [],
    error: error.message,
    code: error.code,
    signature,
    failedAt: state.wallMs,
    failedMs: state.nowMs,
  });
}
