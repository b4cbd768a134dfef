import {
  AGGREGATION_LOOKS_MAX,
  AGGREGATION_PAUSE_MS,
  AGGREGATION_RETRIES,
  type Aggregation,
  type AggregationClaim,
  type ResultSearch,
  type StoredResult,
} from '../aggregation.js';
import type { GroupKey, Page } from '../model.js';
import { type Aggregations } from '../ports.js';
import { plainCursor } from '../rules/shard-pages.js';
import { endRound } from './ending.js';
import type { AggregationLock } from './gathered.js';
import type { GroupRecord } from './records.js';
import type { MemoryState } from './state.js';

/** Aggregations of the memory state. */
export const memoryAggregations = (state: MemoryState): Aggregations => ({
  claim: async (token, ttlMs, types) => state.step(() => claim(state, token, ttlMs, types)),
  claimGroup: async (key, token, ttlMs) => state.step(() => claimGroup(state, key, token, ttlMs)),
  renew: async (key, round, token, ttlMs) => state.step(() => renew(state, key, round, token, ttlMs)),
  page: async (key, limit, cursor) => state.step(() => page(state, key, limit, cursor)),
  find: async (key, jobId, max, cursor) => state.step(() => find(state, key, jobId, max, cursor)),
  finish: async (key, round, token, data) => state.step(() => finish(state, key, round, token, data)),
  fail: async (key, round, token, message) => state.step(() => fail(state, key, round, token, message)),
});

type Claimable = GroupRecord & { readonly aggregation: AggregationLock };

const isClaimable = (group: GroupRecord | undefined): group is Claimable => group?.aggregation !== undefined;

function claim(
  state: MemoryState,
  token: string,
  ttlMs: number,
  types: readonly string[] | undefined,
): AggregationClaim {
  const held = state.aggregationTokens.get(token);
  if (isClaimable(held) && held.aggregation.freeMs > state.nowMs) return { aggregation: aggregationOf(held) };
  const { aggregations } = state;
  const passed: GroupRecord[] = [];
  let found: Claimable | undefined;
  for (let looks = AGGREGATION_LOOKS_MAX; looks > 0 && !found; looks--) {
    const group = aggregations.peek();
    if (!isClaimable(group) || group.aggregation.freeMs > state.nowMs) break;
    if (!types || group.gathered?.types.every((type) => types.includes(type))) found = group;
    else {
      aggregations.remove(group);
      passed.push(group);
    }
  }
  if (found) take(state, found, token, ttlMs);
  const next = aggregations.peek();
  for (const group of passed) aggregations.put(group);
  const nextInMs = isClaimable(next) ? Math.max(0, next.aggregation.freeMs - state.nowMs) : undefined;
  if (!found) return nextInMs === undefined ? {} : { nextInMs };
  // Handed on from process to process: another one may add up the next at the same time.
  if (nextInMs === 0) state.ring('aggregate');
  return { aggregation: aggregationOf(found) };
}

function claimGroup(
  state: MemoryState,
  key: GroupKey,
  token: string,
  ttlMs: number,
): AggregationClaim | undefined {
  const group = state.groups.get(key);
  if (!isClaimable(group)) return undefined;
  const { aggregation } = group;
  if (aggregation.freeMs <= state.nowMs) take(state, group, token, ttlMs);
  else if (aggregation.token !== token) return { nextInMs: aggregation.freeMs - state.nowMs };
  return { aggregation: aggregationOf(group) };
}

function take(state: MemoryState, group: Claimable, token: string, ttlMs: number): void {
  const { aggregation } = group;
  if (aggregation.token !== undefined) state.aggregationTokens.delete(aggregation.token);
  aggregation.token = token;
  state.aggregationTokens.set(token, group);
  freeAt(state, group, state.nowMs + ttlMs);
}

function freeAt(state: MemoryState, group: Claimable, ms: number): void {
  group.aggregation.freeMs = ms;
  state.aggregations.put(group);
}

function aggregationOf(group: Claimable): Aggregation {
  const { key, round, registered, success, failed, startedAt, traceparent } = group;
  const { doneAt } = group.aggregation;
  return {
    key,
    round,
    types: [...(group.gathered?.types ?? [])],
    total: registered,
    success,
    failed,
    startedAt: startedAt ?? doneAt,
    completedAt: doneAt,
    traceparent,
  };
}

/** The group, while this token holds its lock: also when the lock has expired and nobody has taken it. */
function held(state: MemoryState, key: GroupKey, round: number, token: string): Claimable | undefined {
  const group = state.groups.get(key);
  return isClaimable(group) && group.round === round && group.aggregation.token === token ? group : undefined;
}

function renew(state: MemoryState, key: GroupKey, round: number, token: string, ttlMs: number): boolean {
  const group = held(state, key, round, token);
  if (!group) return false;
  freeAt(state, group, state.nowMs + ttlMs);
  if (ttlMs === 0) state.ring('aggregate');
  return true;
}

function page(
  state: MemoryState,
  key: GroupKey,
  limit: number,
  cursor: string | undefined,
): Page<StoredResult> {
  const results = state.groups.get(key)?.gathered?.results ?? [];
  const from = Number(plainCursor(cursor) ?? 0);
  const to = from + limit;
  return { items: results.slice(from, to), ...(to < results.length && { cursor: String(to) }) };
}

/** From the newest down. */
function find(
  state: MemoryState,
  key: GroupKey,
  jobId: string,
  max: number,
  cursor: string | undefined,
): ResultSearch {
  const results = state.groups.get(key)?.gathered?.results ?? [];
  const before = Math.min(Number(cursor ?? results.length), results.length);
  const from = Math.max(0, before - max);
  for (let at = before - 1; at >= from; at--) {
    const result = results[at] as StoredResult;
    if (result.jobId === jobId) return { found: result };
  }
  return from > 0 ? { cursor: String(from) } : {};
}

/** What was answered to this token before, in this round: the answer was lost. */
const answeredBefore = (state: MemoryState, key: GroupKey, round: number, token: string) => {
  const group = state.groups.get(key);
  const last = group?.round === round ? group.aggregated : undefined;
  return last?.token === token ? last.answer : undefined;
};

function finish(
  state: MemoryState,
  key: GroupKey,
  round: number,
  token: string,
  data: string | undefined,
): 'done' | 'lost' {
  const group = held(state, key, round, token);
  if (!group) return answeredBefore(state, key, round, token) === 'done' ? 'done' : 'lost';
  endRound(state, group, 'COMPLETED', data === undefined ? {} : { data: JSON.parse(data) });
  group.aggregated = { token, answer: 'done' };
  return 'done';
}

function fail(
  state: MemoryState,
  key: GroupKey,
  round: number,
  token: string,
  message: string,
): 'again' | 'failed' | 'lost' {
  const group = held(state, key, round, token);
  if (!group) {
    const before = answeredBefore(state, key, round, token);
    return before === undefined || before === 'done' ? 'lost' : before;
  }
  const { aggregation } = group;
  aggregation.failures += 1;
  if (aggregation.failures > AGGREGATION_RETRIES) {
    group.code = 'AGGREGATION_FAILED';
    endRound(state, group, 'FAILED', { message });
    group.aggregated = { token, answer: 'failed' };
    return 'failed';
  }
  aggregation.token = undefined;
  state.aggregationTokens.delete(token);
  freeAt(state, group, state.nowMs + aggregation.failures * AGGREGATION_PAUSE_MS);
  group.aggregated = { token, answer: 'again' };
  return 'again';
}
