import { countEvents } from '../../../rules/rate-window.js';
import type { NonReadyReason } from '../../../states.js';
import { noteEnd, noteThrottle, type Throttle } from '../congestion/attempts.js';
import { noteThrottled } from '../congestion/points.js';
import { refresh, refreshTenant } from '../fair/order.js';
import type { ChargeCorrection } from '../state/change.js';
import type { Position } from '../state/position.js';
import type { Job } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endJob } from './end.js';
import { delayJob, requeueJob } from './wait.js';

/** The end of an attempt, as its instance reports it. */
export interface Settlement {
  readonly groupId: string;
  readonly position: Position;
  readonly attempt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
}

export type AttemptOutcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'failure'; readonly code: string }
  | {
      readonly kind: 'retry';
      readonly reason: NonReadyReason;
      readonly delayMs: number;
      /** True if it counts against the maximum of retries. */
      readonly spendsRetry: boolean;
      readonly code?: string | undefined;
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
  const job = group?.inFlight.get(position);
  if (!group || !job || job.attempt !== attempt || job.instanceId !== instanceId) {
    freeLate(state, instanceId, settlement);
    return false;
  }
  const correction = correctionOf(state, job, settlement.durationMs);
  noteAttempt(state, job, settlement);
  release(state, job);
  switch (settlement.outcome.kind) {
    case 'success':
      countEvents(group.settledWindow, state.nowMs, 1);
      endJob(state, job, 'COMPLETED', { durationMs: settlement.durationMs, correction });
      break;
    case 'failure': {
      countEvents(group.settledWindow, state.nowMs, 1);
      const { code } = settlement.outcome;
      endJob(state, job, 'FAILED', { durationMs: settlement.durationMs, code, correction });
      break;
    }
    case 'retry': {
      const { reason, delayMs, spendsRetry } = settlement.outcome;
      delayJob(state, job, { reason, delayMs, retries: spendsRetry ? 1 : 0, orphans: 0, correction });
      break;
    }
    case 'throttled':
      delayThrottled(state, job, settlement.outcome, correction);
      break;
    case 'returned':
      requeueJob(state, job, { attempt: job.attempt - 1, orphans: 0, correction });
  }
  return true;
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

/** A job leaves its slot, and what it held of caps is free. */
export function release(state: EngineState, job: Job): void {
  const { group, resource } = job;
  const instance = state.instances.get(job.instanceId);
  if (instance?.jobs.delete(job)) instance.free += 1;
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
