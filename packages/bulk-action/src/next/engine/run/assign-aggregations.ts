import type { Aggregate, JobRef } from '../state/message.js';
import { AGGREGATION_POSITION } from '../state/position.js';
import type { Group, Instance } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { aggregationOf, moveAggregation, runningAggregation } from './aggregate.js';
import { instanceOf } from './instances.js';
import { post } from './recall.js';

/** Aggregations that an instance runs at once. */
const PER_INSTANCE = 8;
/** Waiting aggregations that one commit considers. */
const LOOKS_MAX = 100;
const LOOK_AGAIN_MS = 100;

/** Delivers aggregations that wait. Those that find no instance let others go first the next time. */
export function assignAggregations(state: EngineState): void {
  let looks = Math.min(LOOKS_MAX, state.aggregating.size);
  for (const group of state.aggregating) {
    if (looks-- === 0) return;
    const { attempt, failures, dueMs } = aggregationOf(group);
    const instance = dueMs > state.nowMs || isHeld(state, group) ? undefined : instanceFor(state, group);
    if (!instance) {
      state.aggregating.delete(group);
      state.aggregating.add(group);
      continue;
    }
    instance.aggregations.add(group);
    moveAggregation(state, group, { attempt: attempt + 1, failures, instanceId: instance.id, dueMs: 0 });
    post(state, instance.id, messageOf(group));
  }
}

const isHeld = ({ shard }: EngineState, { isPaused, tenant }: Group): boolean =>
  isPaused || tenant.isPaused || shard.isPaused;

/** Returns the instance with the fewest aggregations of those that have all that the group asks for. */
function instanceFor(state: EngineState, { kept }: Group): Instance | undefined {
  let best: Instance | undefined;
  for (const instance of state.instances.values()) {
    const { aggregators, aggregations } = instance;
    if (aggregations.size >= (best?.aggregations.size ?? PER_INSTANCE)) continue;
    if (kept?.aggregators.every((type) => aggregators.has(type))) best = instance;
  }
  return best;
}

function messageOf(group: Group): Aggregate {
  const { id: groupId, round, registered: total, success, failed, kept, progressMs: doneMs } = group;
  const { aggregators = [], resultsFrom = 0, results: resultsTo = 0, aggregation } = kept ?? {};
  const { startedMs = doneMs } = group;
  const counts = { total, success, failed, startedMs, doneMs };
  const results = { types: [...aggregators], resultsFrom, resultsTo };
  return { kind: 'aggregate', groupId, round, attempt: aggregation?.attempt ?? 0, ...results, ...counts };
}

/** Returns when an aggregation that waits may be tried next, in milliseconds. */
export function aggregationDueMs(state: EngineState): number {
  if (state.aggregating.size > LOOKS_MAX) return state.nowMs + LOOK_AGAIN_MS;
  let dueMs = Infinity;
  for (const { kept } of state.aggregating)
    if (kept?.aggregation && kept.aggregation.dueMs > state.nowMs)
      dueMs = Math.min(dueMs, kept.aggregation.dueMs);
  return dueMs;
}

/** Derives what is not stored of a group's aggregation and of its letters. */
export function restoreAggregation(state: EngineState, group: Group): void {
  if (group.kept?.owed.size) state.owing.add(group);
  if (group.status !== 'AGGREGATING') return;
  const { instanceId } = aggregationOf(group);
  if (instanceId === '') state.aggregating.add(group);
  else instanceOf(state, instanceId).aggregations.add(group);
}

/** Delivers the aggregations of an instance again that it does not know of. */
export function greetAggregations(state: EngineState, instanceId: string, held: readonly JobRef[]): void {
  for (const group of instanceOf(state, instanceId).aggregations) {
    const { attempt } = aggregationOf(group);
    const isKnown = held.some((ref) => ref.groupId === group.id && ref.position === AGGREGATION_POSITION);
    if (!isKnown && runningAggregation(group, instanceId, attempt)) post(state, instanceId, messageOf(group));
  }
}
