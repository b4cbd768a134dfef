import type { GroupSlowness, ResourceState } from '../../../congestion-stats.js';
import { rateAt } from '../../../rules/congestion.js';
import { groupIdOf } from '../../../rules/ids.js';
import { ratePerSecond } from '../../../rules/rate-window.js';
import { hasEnded } from '../../../states.js';
import { decide } from '../changes/apply-change.js';
import { History, roundedRate } from '../state/history.js';
import type { Group, Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { endSlowness } from './limits.js';

/** Returns the least of two limits, as views show it: null means no limit. */
function leastOf(configured: number | undefined, learnt: number | undefined): number | null {
  const least = Math.min(configured ?? Infinity, learnt ?? Infinity);
  return least === Infinity ? null : least;
}

const rateLimitOf = ({ rate, learnt }: Resource): number | null => leastOf(rate?.rps, learnt?.rps);
const capOf = ({ concurrency, learntConcurrency }: Resource): number | null =>
  leastOf(concurrency, learntConcurrency);
const roundedLimit = (limit: number | null): number | null => (limit === null ? null : roundedRate(limit));

/** Adds to the history of a resource if a point is due. */
export function noteResourcePoint({ nowMs, config }: EngineState, resource: Resource): void {
  const { history } = resource;
  if (!history.isDue(nowMs, config.congestion.statsRetentionMs)) return;
  history.add({
    at: nowMs,
    rate: roundedRate(rateAt(resource.congestion, nowMs)),
    limit: roundedLimit(rateLimitOf(resource)),
    concurrency: capOf(resource),
    throttles: history.pointThrottles,
  });
}

/** Takes note of a throttled attempt in the history of its group. */
export function noteThrottled(state: EngineState, group: Group): void {
  group.history ??= new History();
  group.history.pointThrottles += 1;
  noteGroupPoint(state, group);
}

/** Adds to the history of a group that was throttled if a point is due. */
export function noteGroupPoint({ nowMs, config }: EngineState, group: Group): void {
  group.history ??= new History();
  const { history } = group;
  if (!history.isDue(nowMs, config.congestion.statsRetentionMs)) return;
  history.add({
    at: nowMs,
    rate: roundedRate(ratePerSecond(group.settledWindow, nowMs)),
    limit: roundedLimit(group.slow?.rate?.rps ?? null),
    nonReadyCount: group.delayed.size,
    backoffMs: group.lastBackoffMs,
    throttles: history.pointThrottles,
  });
}

/** Forgets how services held a group back. Its count of throttled attempts stays. */
export function forgetCongestion(state: EngineState, group: Group): void {
  endSlowness(state, group);
  group.trial = undefined;
  group.history = undefined;
  if (group.lastBackoffMs > 0) decide(state, { kind: 'forgotten', group });
}

/** Returns how services hold a group back; undefined for one that has ended. */
export function groupSlowness({ nowMs, config }: EngineState, group: Group): GroupSlowness | undefined {
  if (hasEnded(group.status)) return undefined;
  return {
    groupId: groupIdOf(group.id),
    rate: ratePerSecond(group.settledWindow, nowMs),
    limit: group.slow?.rate?.rps ?? null,
    frozenForMs: Math.max(0, (group.slow?.frozenUntilMs ?? 0) - nowMs),
    nonReadyCount: group.delayed.size,
    lastBackoffMs: group.lastBackoffMs,
    throttles: group.throttled,
    done: group.done,
    history: group.history?.read(nowMs, config.congestion.statsRetentionMs) ?? [],
  };
}

/** Returns what is known of each resource, by name. */
export function resourceStates({ nowMs, config, resources }: EngineState): ResourceState[] {
  const byName = [...resources.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return byName.map((resource) => ({
    resource: resource.name,
    rate: rateAt(resource.congestion, nowMs),
    limit: rateLimitOf(resource),
    concurrency: capOf(resource),
    frozenForMs: Math.max(0, resource.frozenUntilMs - nowMs),
    starts: resource.starts,
    throttles: resource.throttles,
    history: resource.history.read(nowMs, config.congestion.statsRetentionMs),
  }));
}
