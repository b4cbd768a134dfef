import { decide } from '../changes/apply-change.js';
import type { Aggregation } from '../state/kept.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';

/*
 * Adding up the results of a round is an internal job of the group. It needs no slot: it is delivered to an instance that has
 * announced all its aggregators, and is fenced by its attempt and its instance as any job is.
 *
 *   RUNNING ──all jobs done──▶ AGGREGATING: waits ──▶ runs ──success──▶ COMPLETED
 *                                            ▲          ├─failed, instance died─▶ waits, or FAILED after 3 attempts
 *                                            └─returned─┘
 */

/** An aggregation that failed waits so long, times its failures. */
const PAUSE_MS = 1_000;

/** All jobs of a round are done, and their results have to be added up before it ends. */
export function beginAggregation(state: EngineState, group: Group): void {
  const { round } = group;
  decide(state, { kind: 'moved', group, status: 'AGGREGATING', code: undefined, round, atUs: state.nowUs });
  const { attempt } = aggregationOf(group);
  moveAggregation(state, group, { attempt, failures: 0, instanceId: '', dueMs: 0 });
}

/** Returns the aggregation of a group that has begun one. */
export const aggregationOf = ({ kept }: Group): Aggregation =>
  kept?.aggregation ?? { attempt: 0, failures: 0, instanceId: '', dueMs: 0 };

/** Stores where the aggregation of a round is. */
export function moveAggregation(state: EngineState, group: Group, aggregation: Aggregation): void {
  const { attempt, failures, instanceId, dueMs } = aggregation;
  decide(state, { kind: 'aggregation', group, attempt, failures, instanceId, dueMs });
  if (instanceId === '') state.aggregating.add(group);
  else state.aggregating.delete(group);
}

/** Returns the running aggregation of a group if it has this attempt on this instance. */
export function runningAggregation(
  group: Group | undefined,
  instanceId: string,
  attempt: number,
): Aggregation | undefined {
  const aggregation = group?.status === 'AGGREGATING' ? group.kept?.aggregation : undefined;
  return aggregation?.instanceId === instanceId && aggregation.attempt === attempt ? aggregation : undefined;
}

/** An aggregation was given back: it waits again. */
export function requeueAggregation(state: EngineState, group: Group, failures: number): void {
  const { attempt } = aggregationOf(group);
  const dueMs = failures === 0 ? 0 : state.nowMs + failures * PAUSE_MS;
  moveAggregation(state, group, { attempt, failures, instanceId: '', dueMs });
}

/** A group has jobs again before its results were added up: the round goes on. */
export function resumeRound(state: EngineState, group: Group): void {
  if (group.status !== 'AGGREGATING') return;
  const { round } = group;
  state.aggregating.delete(group);
  decide(state, { kind: 'moved', group, status: 'RUNNING', code: undefined, round, atUs: state.nowUs });
}
