import { durationStatistics } from '../../../rules/histogram.js';
import { encodeLine } from '../format/line.js';
import { encodeValue, type RoundFacts } from '../format/side-values.js';
import type { Chunk } from '../state/chunks.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { emit } from './events.js';

/** Rounds of an open group whose results are kept. */
const ROUNDS_KEPT = 10;

const EVENTS = {
  COMPLETED: 'group.completed',
  FAILED: 'group.failed',
  CANCELLED: 'group.cancelled',
} as const;

/** What an aggregation adds to the result of a round. */
export interface RoundMade {
  /** JSON. */
  readonly data?: string | undefined;
  readonly message?: string | undefined;
}

/** Writes the result of a round that has just ended. */
export function keepRound(state: EngineState, group: Group, made: RoundMade = {}): void {
  const { id: groupId, round, isSealable } = group;
  const keepFrom = isSealable ? 1 : Math.max(1, round - ROUNDS_KEPT + 1);
  const bytes = encodeValue({ facts: resultOf(state, group, made.message), data: made.data });
  state.writes.add({ kind: 'round', groupId, round, keepFrom, bytes });
  emit(state, EVENTS[group.status as keyof typeof EVENTS], group);
}

function resultOf({ nowMs }: EngineState, group: Group, message: string | undefined): RoundFacts {
  const { success, failed, cancelled, durations, startedMs, endedMs = nowMs, kept } = group;
  return {
    groupId: group.id,
    tenant: group.tenant.id,
    round: group.round,
    status: group.status,
    ...(group.code !== undefined && { code: group.code }),
    ...(message !== undefined && { message }),
    total: group.registered,
    success,
    failed,
    cancelled,
    successRate: success + failed === 0 ? 1 : success / (success + failed),
    averageDurationMs: durations.count === 0 ? 0 : durations.sum / durations.count,
    durations: durationStatistics(durations),
    failedByCode: Object.fromEntries(group.codes ?? []),
    ...(kept && kept.numbers.size > 0 && { numbers: Object.fromEntries(kept.numbers) }),
    ...(kept && kept.resultsDropped > 0 && { resultsDropped: kept.resultsDropped }),
    ...(startedMs !== undefined && { startedAt: startedMs }),
    endedAt: endedMs,
    durationMs: startedMs === undefined ? 0 : Math.max(0, endedMs - startedMs),
  };
}

/** Writes what stays of the jobs of a chunk whose bodies go. */
export function keepLine({ writes }: EngineState, group: Group, chunk: Chunk): void {
  const { address } = chunk;
  const outcomes = group.outcomes.get(address);
  if (outcomes) writes.add({ kind: 'line', groupId: group.id, address, bytes: encodeLine(chunk, outcomes) });
}
