import { emissionUs } from '@millrace/foundation';
import { newHistogram } from '../../../rules/histogram.js';
import { hasEnded } from '../../../states.js';
import type { ClockJumped, GroupMoved, GroupSealed, Paused } from '../state/change.js';
import { Group, type Queue } from '../state/records.js';
import type { Recorded, Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';
import { beginKept, cutKept } from './apply-kept.js';

/** Registration has ended. */
export function sealGroup({ group }: GroupSealed): void {
  group.isSealed = true;
  if (group.status === 'CREATED') group.status = 'DISPATCHED';
}

/** The status of a group changes. A higher round begins with new counters. */
export function moveGroup({ group, status, code, round, atUs }: GroupMoved): void {
  if (round > group.round) beginRound(group, round, Math.floor(atUs / 1000));
  group.status = status;
  group.code = code;
  group.endedMs = undefined;
  if (!hasEnded(status)) return;
  group.endedMs = Math.floor(atUs / 1000);
  group.pausedMs = undefined;
  if (status !== 'COMPLETED') cutJobs(group);
  else passEnded(group);
}

function beginRound(group: Group, round: number, nowMs: number): void {
  group.round = round;
  group.startedMs = undefined;
  group.progressMs = nowMs;
  for (const name of COUNTERS_OF_ROUND) group[name] = 0;
  Object.assign(group.durations, newHistogram());
  group.codes = undefined;
  if (group.kept) beginKept(group.kept);
}

const COUNTERS_OF_ROUND = [
  'registered',
  'success',
  'failed',
  'cancelled',
  'late',
  'throttled',
  'rateDenied',
  'lastBackoffMs',
] as const;

/** What has not ended ends with the round, however many jobs that are. */
function cutJobs(group: Group): void {
  group.cancelled = group.registered - group.success - group.failed;
  group.inFlight.clear();
  group.delayed.clear();
  group.skipped.clear();
  cutKept(group);
  group.front.length = 0;
  for (const queue of group.queues) if (queue) passAll(queue);
}

/** Positions behind a gap that were skipped are passed with the gap. */
function passEnded(group: Group): void {
  if (group.skipped.size === 0) return;
  group.skipped.clear();
  for (const queue of group.queues) {
    if (!queue) continue;
    passAll(queue);
    queue.cursor = queue.tail;
  }
}

/** All jobs of a queue have ended. */
export function passAll(queue: Queue): void {
  queue.next = queue.tail;
  queue.late.length = 0;
}

/** A pause begins or ends. Quiet time of a group before its pause counts, that of a tenant or the shard does not. */
export function setPaused({ scope, isPaused, atUs }: Paused): void {
  const nowMs = Math.floor(atUs / 1000);
  if (isPaused) {
    scope.pausedMs ??= nowMs;
    return;
  }
  const pausedMs = scope.pausedMs ?? nowMs;
  scope.pausedMs = undefined;
  const quietMs =
    scope instanceof Group ? Math.max(0, pausedMs - Math.max(scope.progressMs, scope.quietFromMs)) : 0;
  scope.quietFromMs = nowMs - quietMs;
}

/**
 * The store's clock has jumped. Times that are durations from now on (debts of rates, backoffs, quiet times) move along, and
 * no bucket is emptier than empty. Times that the caller has set stay.
 */
export function jumpClock(
  { byNumber }: EngineState,
  { atUs, deltaUs }: ClockJumped,
  isNewTo: (record: Recorded) => boolean,
): void {
  const deltaMs = Math.round(deltaUs / 1000);
  for (const record of byNumber.values()) {
    if (!isNewTo(record)) continue;
    const scope = record as Scope;
    if (scope.rate) moveRate(scope.rate, atUs, deltaUs);
    scope.fullUs = moved(scope.fullUs, deltaUs);
    scope.quietFromMs = moved(scope.quietFromMs, deltaMs);
    if (scope.pausedMs !== undefined) scope.pausedMs += deltaMs;
    if (scope instanceof Group) moveTimes(scope, deltaUs, deltaMs);
  }
}

/** Moves the debt of a bucket with the clock. A bucket that is full is left. */
export function moveRate(
  rate: { tatUs: number; readonly rps: number; readonly burst: number },
  nowUs: number,
  deltaUs: number,
): void {
  if (rate.tatUs <= nowUs - deltaUs) rate.tatUs = Math.min(rate.tatUs, nowUs);
  else rate.tatUs = Math.min(rate.tatUs + deltaUs, nowUs + rate.burst * emissionUs(rate.rps));
}

function moveTimes(group: Group, deltaUs: number, deltaMs: number): void {
  group.progressMs = moved(group.progressMs, deltaMs);
  const { aggregation } = group.kept ?? {};
  if (aggregation) aggregation.dueMs = moved(aggregation.dueMs, deltaMs);
  for (const job of group.inFlight.values()) job.startedUs = moved(job.startedUs, deltaUs);
  for (const job of group.delayed.values())
    if (job.reason !== 'SCHEDULED') job.dueMs = moved(job.dueMs, deltaMs);
}

/** 0 stands for never. */
const moved = (time: number, delta: number): number => (time === 0 ? 0 : Math.max(0, time + delta));
