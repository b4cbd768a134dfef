import { countEvents } from '../../../rules/rate-window.js';
import type { NonReadyReason } from '../../../states.js';
import { noteEnd, noteThrottle, type Throttle } from '../congestion/attempts.js';
import { noteThrottled } from '../congestion/points.js';
import { loadedBody } from '../fair/head.js';
import { refresh, refreshTenant } from '../fair/order.js';
import { uncharge } from '../fair/turn.js';
import { keepAttempt } from '../results/attempts.js';
import { fitsEnd } from '../results/job-end.js';
import type { AttemptError, AttemptResult } from '../results/report.js';
import type { ChargeCorrection } from '../state/change.js';
import { AGGREGATION_POSITION, addressOf, type Position } from '../state/position.js';
import type { Group, Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { requeueAggregation, runningAggregation } from './aggregate.js';
import { endJob, endRound, failAggregation } from './end.js';
import { delayJob, requeueJob } from './wait.js';

/** The end of an attempt, as its instance reports it. */
export interface Settlement {
  readonly groupId: string;
  readonly position: Position;
  readonly attempt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  /** The aggregator of its processor type, if the instance has one. */
  readonly aggregator?: string | undefined;
  /** True if the processor's payloads and results are not to be shown. */
  readonly isPrivate?: boolean | undefined;
}

export type AttemptOutcome =
  | ({ readonly kind: 'success' } & AttemptResult)
  /** `isDead` for a failure that spent all its retries: the job becomes a dead letter. */
  | ({ readonly kind: 'failure'; readonly isDead?: boolean | undefined } & AttemptError)
  | {
      readonly kind: 'retry';
      readonly reason: NonReadyReason;
      readonly delayMs: number;
      /** True if it counts against the maximum of retries. */
      readonly spendsRetry: boolean;
      readonly code?: string | undefined;
      readonly message?: string | undefined;
      readonly errorClass?: string | undefined;
    }
  /** Refused by the called service: spends no retry. */
  | ({ readonly kind: 'throttled' } & Throttle)
  /** Given back by a shutdown or a recall: all counts stay. */
  | { readonly kind: 'returned' };

/** Weight of the newest attempt in the mean duration. */
const ESTIMATE_SHARE = 0.2;

/**
 * Settles an attempt. It counts only if the job is in flight with this attempt on this instance: repeats and latecomers change
 * nothing. Returns whether it counted.
 */
export function settle(state: EngineState, instanceId: string, settlement: Settlement): boolean {
  const { position, attempt } = settlement;
  const group = state.groups.get(settlement.groupId);
  if (position === AGGREGATION_POSITION) return settleAggregation(state, instanceId, settlement, group);
  const job = group?.inFlight.get(position);
  if (!group || !job || job.attempt !== attempt || job.instanceId !== instanceId) {
    freeLate(state, instanceId, settlement);
    return false;
  }
  if (settlement.outcome.kind === 'returned') {
    returnJob(state, job, !job.isLaunched && settlement.durationMs === 0);
    return true;
  }
  const { outcome, durationMs, aggregator, isPrivate } = settlement;
  const correction = correctionOf(state, job, durationMs);
  noteAttempt(state, job, settlement);
  keepAttempt(state, job, durationMs, attemptError(outcome));
  release(state, job);
  switch (outcome.kind) {
    case 'success': {
      countEvents(group.settledWindow, state.nowMs, 1);
      const result = outcome.data === undefined && !outcome.numbers ? undefined : outcome;
      endJob(state, job, 'COMPLETED', { durationMs, correction, result, aggregator, isPrivate });
      break;
    }
    case 'failure': {
      countEvents(group.settledWindow, state.nowMs, 1);
      const { isDead } = outcome;
      endJob(state, job, 'FAILED', { durationMs, correction, error: outcome, isDead, aggregator, isPrivate });
      break;
    }
    case 'retry': {
      const { reason, delayMs, spendsRetry } = outcome;
      delayJob(state, job, { reason, delayMs, retries: spendsRetry ? 1 : 0, orphans: 0, correction });
      break;
    }
    case 'throttled':
      delayThrottled(state, job, outcome, correction);
  }
  return true;
}

/**
 * Reports whether a settlement can be taken in: what it writes fits into the next commit, and the body of a job that becomes a dead
 * letter is loaded. Asks for it if it is not.
 */
export function canSettle(state: EngineState, instanceId: string, settlement: Settlement): boolean {
  const { groupId, position, attempt, outcome } = settlement;
  if (!fitsEnd(state, outcome.kind === 'success' ? outcome.data : undefined)) return false;
  if (outcome.kind !== 'failure' || !outcome.isDead) return true;
  const group = state.groups.get(groupId);
  const job = group?.inFlight.get(position);
  if (!group || job?.attempt !== attempt || job.instanceId !== instanceId) return true;
  job.body ??= loadedBody(state, group, position);
  if (!job.body && !group.chunks.has(addressOf(position))) return false;
  return fitsEnd(state, job.body?.payload);
}

/** Settles an attempt to add up the results of a round. */
function settleAggregation(
  state: EngineState,
  instanceId: string,
  { attempt, outcome }: Settlement,
  group: Group | undefined,
): boolean {
  const aggregation = runningAggregation(group, instanceId, attempt);
  if (!group || !aggregation) return false;
  state.instances.get(instanceId)?.aggregations.delete(group);
  if (outcome.kind === 'success') endRound(state, group, 'COMPLETED', undefined, { data: outcome.data });
  else if (outcome.kind === 'returned') requeueAggregation(state, group, aggregation.failures);
  else failAggregation(state, group, attemptError(outcome)?.message);
  return true;
}

/** Returns why an attempt failed, or undefined if it succeeded. */
function attemptError(outcome: AttemptOutcome): AttemptError | undefined {
  if (outcome.kind === 'failure') return outcome;
  if (outcome.kind === 'throttled') return { code: 'RATE_LIMITED' };
  if (outcome.kind !== 'retry') return undefined;
  const { code = outcome.reason, message, errorClass } = outcome;
  return { code, message, errorClass };
}

/** Congestion control learns from each attempt that has called its service. */
function noteAttempt(state: EngineState, job: Job, { outcome, durationMs }: Settlement): void {
  if (outcome.kind === 'success') noteEnd(state, job, durationMs, undefined);
  else if (outcome.kind === 'failure') noteEnd(state, job, durationMs, outcome.code);
  else if (outcome.kind === 'retry' && outcome.reason === 'TRANSIENT_ERROR')
    noteEnd(state, job, durationMs, outcome.code ?? '');
}

/** A refused job waits as long as its service asks for, or as the group needs to serve the jobs that wait already. */
function delayThrottled(
  state: EngineState,
  job: Job,
  throttle: Throttle,
  correction: ChargeCorrection | undefined,
): void {
  const { backoffMs, delayMs } = noteThrottle(state, job, throttle);
  const waiting = { reason: 'API_THROTTLED', delayMs, retries: 0, orphans: 0 } as const;
  delayJob(state, job, { ...waiting, correction, backoffMs, throttledBy: job.resource });
  noteThrottled(state, job.group);
}

/** An attempt whose round was cut ends: its slot is free. */
function freeLate(state: EngineState, instanceId: string, { groupId, position, attempt }: Settlement): void {
  const instance = state.instances.get(instanceId);
  for (const job of instance?.jobs ?? []) {
    if (job.group.id !== groupId || job.position !== position || job.attempt !== attempt) continue;
    release(state, job);
    refresh(state, job.group);
    return;
  }
}

/**
 * Puts a job back as if it had not been started: all counts are as before, and its turn costs nothing.
 * @param isUnlaunched - true if no handler ran: then its tokens come back too.
 */
export function returnJob(state: EngineState, job: Job, isUnlaunched: boolean): void {
  const { group, turn, cost, startedUs, resource } = job;
  release(state, job);
  const correction = turn && { by: -turn.charge, resource: turn.seat.line.resource };
  if (turn) uncharge(state, group, turn);
  requeueJob(state, job, {
    attempt: job.attempt - 1,
    orphans: 0,
    correction,
    refund: isUnlaunched ? { cost, startedUs, resource } : undefined,
  });
}

/** A job leaves its slot, and what it held of caps is free. */
export function release(state: EngineState, job: Job): void {
  const { group, resource } = job;
  const instance = state.instances.get(job.instanceId);
  if (instance?.jobs.delete(job)) instance.free += 1;
  if (instance?.suspect === job) instance.suspect = undefined;
  group.held -= 1;
  group.tenant.held -= 1;
  group.tenant.inFlight -= 1;
  state.shard.held -= 1;
  if (resource) resource.held -= 1;
  refreshTenant(state, group.tenant);
}

/** With `charge: 'time'` a turn is charged an estimate, which the duration corrects. */
function correctionOf(state: EngineState, job: Job, durationMs: number): ChargeCorrection | undefined {
  if (state.config.fairQueue.charge !== 'time' || !job.turn) return undefined;
  const { group, turn } = job;
  const real = Math.max(1, durationMs);
  group.estimateMs = mean(group.estimateMs ?? real, real);
  state.estimateMs = mean(state.estimateMs, real);
  return { by: real - turn.charge, resource: turn.seat.line.resource };
}

const mean = (before: number, newest: number): number => before + ESTIMATE_SHARE * (newest - before);
