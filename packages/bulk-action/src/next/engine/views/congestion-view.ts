import type { ResourceCongestion as FormerCongestion, GroupCongestion } from '../../../congestion-stats.js';
import { levelOf } from '../../../rules/throttle-backoff.js';
import { groupSlowness, resourceStates } from '../congestion/points.js';
import type { Group, Resource } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/** A called service as it is now, and its history. */
export interface ResourceCongestion extends FormerCongestion {
  /** Calls per second that were learnt from its refusals; null = nothing was learnt. */
  readonly learntRps: number | null;
  readonly paused: boolean;
  /** Jobs that call it and are ready or running. */
  readonly held: number;
}

/** Returns what is known of each resource, by name. */
export const congestionView = (state: EngineState): ResourceCongestion[] =>
  resourceStates(state).map((resource) => {
    const { learnt, isPaused, held } = state.resources.get(resource.resource) as Resource;
    const accepted = resource.starts - resource.throttles;
    return {
      ...resource,
      throttlesPerJob: resource.throttles / Math.max(1, accepted),
      learntRps: learnt?.rps ?? null,
      paused: isPaused,
      held,
    };
  });

/** Returns how services hold a group back; undefined for one that has ended. */
export function groupCongestion(state: EngineState, group: Group): GroupCongestion | undefined {
  const slowness = groupSlowness(state, group);
  if (!slowness) return undefined;
  const { done, ...view } = slowness;
  const { nonReadyCount, lastBackoffMs, throttles } = view;
  const level = nonReadyCount === 0 ? 'NONE' : levelOf(lastBackoffMs, state.config.congestion.baseBackoffMs);
  return { ...view, level, throttlesPerJob: throttles / Math.max(1, done) };
}
