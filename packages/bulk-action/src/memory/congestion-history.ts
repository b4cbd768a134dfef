import type { GroupPoint, GroupSlowness, ResourceState } from '../congestion-stats.js';
import { rateAt } from '../rules/congestion.js';
import { groupIdOf } from '../rules/ids.js';
import { ratePerSecond } from '../rules/rate-window.js';
import { hasEnded } from '../states.js';
import { History } from './history.js';
import type { GroupRecord, ResourceRecord } from './records.js';
import type { MemoryState } from './state.js';

/** A call of the service has begun or was refused. */
export function notePointOf(state: MemoryState, resource: ResourceRecord): void {
  resource.history.note(state, (throttles) => ({
    rate: rateAt(resource.congestion, state.nowMs),
    limit: resource.rps ?? null,
    concurrency: resource.concurrency ?? null,
    throttles,
  }));
}

/** A try of a group was refused. */
export function noteThrottled(state: MemoryState, group: GroupRecord): void {
  group.history ??= new History<GroupPoint>();
  group.history.pointThrottles += 1;
  notePointOfGroup(state, group);
}

/** The same, or a job of a group that was throttled before has started. */
export function notePointOfGroup(state: MemoryState, group: GroupRecord): void {
  group.history ??= new History<GroupPoint>();
  group.history.note(state, (throttles) => ({
    rate: ratePerSecond(group.settledWindow, state.nowMs),
    limit: group.slow?.rps ?? null,
    nonReadyCount: group.nonReady,
    backoffMs: group.lastBackoffMs,
    throttles,
  }));
}

/** What is known of how a group is held back; nothing of one that has ended. */
export function slownessOf(state: MemoryState, group: GroupRecord | undefined): GroupSlowness | undefined {
  if (!group || hasEnded(group.status)) return undefined;
  return {
    groupId: groupIdOf(group.key),
    rate: ratePerSecond(group.settledWindow, state.nowMs),
    limit: group.slow?.rps ?? null,
    frozenForMs: Math.max(0, (group.slow?.frozenUntilMs ?? 0) - state.nowMs),
    nonReadyCount: group.nonReady,
    lastBackoffMs: group.lastBackoffMs,
    throttles: group.throttled,
    done: group.success + group.failed + group.cancelled,
    history: group.history?.read(state) ?? [],
  };
}

/** What is known of every service, by name. */
export function resourceStates(state: MemoryState): ResourceState[] {
  const byName = [...state.resources.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return byName.map((resource) => ({
    resource: resource.name,
    rate: rateAt(resource.congestion, state.nowMs),
    limit: resource.rps ?? null,
    concurrency: resource.concurrency ?? null,
    frozenForMs: Math.max(0, resource.frozenUntilMs - state.nowMs),
    starts: resource.starts,
    throttles: resource.throttles,
    history: resource.history.read(state),
  }));
}
