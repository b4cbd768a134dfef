import type { GroupResult } from '../model.js';
import { durationStatistics } from '../rules/histogram.js';
import { groupIdOf } from '../rules/ids.js';
import { hasEnded } from '../states.js';
import { Deque } from './deque.js';
import { endIdleEpochs, refresh } from './fair-queue.js';
import { forgetSlowness } from './forgetting.js';
import type { GroupRecord } from './records.js';
import type { MemoryState } from './state.js';
import { noteProgress, watchGroup } from './watched.js';

/** The one done-test, run by seal and by every settlement. */
export function completeIfDone(state: MemoryState, group: GroupRecord): void {
  if (!group.sealed || hasEnded(group.status) || group.status === 'AGGREGATING') return;
  if (group.pending + group.inFlight > 0) return;
  if (group.gathered && group.gathered.types.length > 0) beginAggregation(state, group);
  else endRound(state, group, 'COMPLETED');
}

/** All jobs are done, and somebody wants their results added up first. */
function beginAggregation(state: MemoryState, group: GroupRecord): void {
  const { nowMs, wallMs } = state;
  group.status = 'AGGREGATING';
  group.aggregation = { sinceMs: nowMs, doneAt: wallMs, freeMs: nowMs, token: undefined, failures: 0 };
  state.aggregations.put(group);
  state.ring('aggregate');
}

function endAggregation(state: MemoryState, group: GroupRecord): void {
  const { aggregation } = group;
  if (!aggregation) return;
  if (aggregation.token !== undefined) state.aggregationTokens.delete(aggregation.token);
  state.aggregations.remove(group);
  group.aggregation = undefined;
}

/** A failed job is pending again before the results were added up: the round goes on. */
export function resumeRound(state: MemoryState, group: GroupRecord): void {
  endAggregation(state, group);
  group.status = 'RUNNING';
}

/**
 * Ends the round of a group before its jobs have ended: O(1) however many there are. Their entries are worth nothing
 * from now on, and are swept in bounded steps.
 */
export function cutRound(
  state: MemoryState,
  group: GroupRecord,
  status: 'FAILED' | 'CANCELLED',
  code: string,
): void {
  const tenant = group.owner;
  tenant.pending -= group.pending;
  state.pending -= group.pending;
  tenant.inFlight -= group.inFlight;
  if (group.lane.size > 0) state.laneGroups -= 1;
  tenant.laneJobs -= group.lane.size;
  state.laneJobs -= group.lane.size;
  group.lane = new Deque();
  group.cancelled = group.registered - group.success - group.failed;
  group.pending = 0;
  group.inFlight = 0;
  group.nonReady = 0;
  group.ready = 0;
  group.code = code;
  group.graves += 1;
  state.graves.push({ group, round: group.round, order: group.order, at: 0 });
  endRound(state, group, status);
  refresh(state, group);
  endIdleEpochs(state, tenant);
}

/** What an aggregation adds to the result of a round. */
type Made = Pick<GroupResult, 'data' | 'message'>;

/** Ends the round of a group: its counters stay as they are. */
export function endRound(
  state: MemoryState,
  group: GroupRecord,
  status: 'COMPLETED' | 'FAILED' | 'CANCELLED',
  made: Made = {},
): void {
  endAggregation(state, group);
  group.status = status;
  group.endedAt = state.wallMs;
  group.endedMs = state.nowMs;
  group.owner.openGroups -= 1;
  state.watched.remove(group);
  group.paused = false;
  forgetSlowness(group);
  group.results.push(resultOf(state, group, made));
  expireAt(state, group, state.nowMs + state.config.limits.jobRetentionMs);
  state.tell(status === 'COMPLETED' ? 'group.completed' : 'group.failed', group);
}

/** When the sweep looks at an ended group next. */
export function expireAt(state: MemoryState, group: GroupRecord, ms: number): void {
  group.expiresMs = ms;
  state.expiries.put(group);
}

/** Opens the next round of an ended group: some of its failed jobs are pending again. */
export function openRound(state: MemoryState, group: GroupRecord): void {
  group.round += 1;
  group.status = 'RUNNING';
  // Also when it was cut short before its seal: nobody can add to it any more, so it must be able to end.
  group.sealed = true;
  group.code = undefined;
  group.aggregated = undefined;
  group.endedAt = undefined;
  noteProgress(state, group);
  watchGroup(state, group);
  group.owner.openGroups += 1;
  state.expiries.remove(group);
}

function resultOf(state: MemoryState, group: GroupRecord, made: Made): GroupResult {
  const { success, failed, cancelled, durations, startedAt } = group;
  const endedAt = state.wallMs;
  return {
    groupId: groupIdOf(group.key),
    round: group.round,
    status: group.status,
    ...(group.code !== undefined && { code: group.code }),
    ...made,
    ...gatheredResult(group),
    total: group.registered,
    success,
    failed,
    cancelled,
    successRate: success + failed === 0 ? 1 : success / (success + failed),
    averageDurationMs: durations.count === 0 ? 0 : durations.sum / durations.count,
    durations: durationStatistics(durations),
    failedByCode: Object.fromEntries(group.failedByCode ?? []),
    failedJobs: [...group.failedJobs],
    ...(startedAt !== undefined && { startedAt }),
    endedAt,
    durationMs: startedAt === undefined ? 0 : Math.max(0, endedAt - startedAt),
  };
}

function gatheredResult({ gathered }: GroupRecord): Pick<GroupResult, 'numbers' | 'resultsDropped'> {
  if (!gathered) return {};
  const numbers = [...gathered.numbers].map(([name, statistics]) => [name, { ...statistics }] as const);
  return {
    ...(numbers.length > 0 && { numbers: Object.fromEntries(numbers) }),
    ...(gathered.dropped > 0 && { resultsDropped: gathered.dropped }),
  };
}
