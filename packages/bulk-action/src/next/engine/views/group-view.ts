import type {
  DurationStatistics,
  GroupView as FormerGroupView,
  GroupProgress,
  NumberStatistics,
} from '../../../model.js';
import { durationStatistics } from '../../../rules/histogram.js';
import { groupIdOf } from '../../../rules/ids.js';
import { progressOf as progressOfView } from '../../../rules/progress.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import type { GroupStatus } from '../../../states.js';
import type { Group } from '../state/records.js';
import type { Scope } from '../state/scope.js';
import type { EngineState } from '../state/state.js';

/** The definition, the life and the counts of a group. */
export interface GroupView extends Omit<FormerGroupView, 'tenantId' | 'traceparent'> {
  /** Why it failed or was cancelled. */
  readonly code?: string;
  readonly notBefore?: number;
  readonly ordered: boolean;
  /** True for a group that ends after its seal; an open group ends when its jobs have been done for a while. */
  readonly sealable: boolean;
}

/** What has come of a group so far in this round. */
export interface RunningResult {
  readonly groupId: string;
  readonly tenant: string;
  readonly round: number;
  readonly status: GroupStatus;
  readonly total: number;
  readonly success: number;
  readonly failed: number;
  readonly cancelled: number;
  /** success / (success + failed), 1 while no job has ended. */
  readonly successRate: number;
  readonly averageDurationMs: number;
  readonly durations: DurationStatistics;
  /** Failed jobs by error code. Codes after the first 100 are counted as `OTHER_CODES`. */
  readonly failedByCode: Readonly<Record<string, number>>;
  /** By the names that aggregators gave them. */
  readonly numbers: Readonly<Record<string, NumberStatistics>>;
  /** Dead letters in the store, of all rounds. */
  readonly deadLetters: number;
}

/** Returns the limits of a group, a tenant or a resource. What has no limit has no field. */
export const limitsOf = ({ rate, concurrency }: Scope) => ({
  ...(rate && { rps: rate.rps, burst: rate.burst }),
  ...(concurrency !== undefined && { concurrency }),
});

/** Returns a group as it is now. */
export function groupView(state: EngineState, group: Group): GroupView {
  const { deadlineMs, notBeforeMs, startedMs, endedMs, code } = group;
  const { registered, success, failed, cancelled, pending, inFlight, delayed, ready } = group;
  return {
    id: groupIdOf(group.id),
    tenant: group.tenant.id,
    weight: group.weight,
    priorityLevel: group.priorityLevel,
    ...limitsOf(group),
    timeoutMs: group.timeoutMs,
    ...(deadlineMs !== undefined && { deadline: deadlineMs }),
    ...(notBeforeMs !== undefined && { notBefore: notBeforeMs }),
    ordered: group.isOrdered,
    sealable: group.isSealable,
    status: group.status,
    ...(code !== undefined && { code }),
    sealed: group.isSealed,
    paused: group.isPaused,
    round: group.round,
    createdAt: group.createdMs,
    ...(startedMs !== undefined && { startedAt: startedMs }),
    ...(endedMs !== undefined && { endedAt: endedMs }),
    progressAt: group.progressMs,
    counts: {
      registered,
      success,
      failed,
      cancelled,
      pending,
      inFlight: inFlight.size,
      nonReady: delayed.size,
      ready: ready.length,
    },
    settledPerSecond: ratePerSecond(group.settledWindow, state.nowMs),
    throttled: group.throttled,
    rateDenied: group.rateDenied,
    lastBackoffMs: group.lastBackoffMs,
  };
}

/** Returns how far a group is. The ETA is null while a pause of the group, its tenant or the shard holds it. */
export function progressOf(state: EngineState, group: Group): GroupProgress {
  const view = groupView(state, group);
  const paused = view.paused || group.tenant.isPaused || state.shard.isPaused;
  return progressOfView(
    { ...view, paused, tenantId: view.tenant, traceparent: '' },
    state.config.congestion.baseBackoffMs,
  );
}

/** Returns what has come of a group so far. */
export function runningResult(group: Group): RunningResult {
  const { success, failed, cancelled, durations, kept } = group;
  return {
    groupId: groupIdOf(group.id),
    tenant: group.tenant.id,
    round: group.round,
    status: group.status,
    total: group.registered,
    success,
    failed,
    cancelled,
    successRate: success + failed === 0 ? 1 : success / (success + failed),
    averageDurationMs: durations.count === 0 ? 0 : durations.sum / durations.count,
    durations: durationStatistics(durations),
    failedByCode: Object.fromEntries(group.codes ?? []),
    numbers: Object.fromEntries([...(kept?.numbers ?? [])].map(([name, sums]) => [name, { ...sums }])),
    deadLetters: kept?.letters ?? 0,
  };
}
