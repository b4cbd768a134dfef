import type { GroupHome, HomeClaim, Shard } from '../shard-port.js';
import type { ClaimRecord } from './claim-records.js';
import { listLetters } from './dead-letters.js';
import { add, create } from './groups.js';
import type { MemoryState } from './state.js';
import { listGroups } from './views.js';

/** The memory state as one of several shards. */
export const memoryShard = (state: MemoryState): Shard => ({
  create: async (definition) => state.step(() => create(state, definition)),
  add: async (definition, jobs, incoming) => state.step(() => add(state, definition, jobs, incoming)),
  claim: async (key, shard) => state.step(() => claim(state, key, shard)),
  locate: async (key) => state.step(() => locate(state, key)),
  claims: async (ageMs, max) =>
    state.step(() =>
      state.claims
        .first(max)
        .filter(({ claimedMs }) => state.nowMs - claimedMs >= ageMs)
        .map((found) => view(state, found)),
    ),
  check: async (key, claimedMs, found) => state.step(() => check(state, key, claimedMs, found)),
  groups: async (filter, limit, cursor) => state.step(() => listGroups(state, filter, limit, cursor)),
  letters: async (filter, limit, cursor) => state.step(() => listLetters(state, filter, limit, cursor)),
});

const view = (state: MemoryState, { key, shard, claimedMs }: ClaimRecord): HomeClaim => ({
  key,
  shard,
  claimedMs,
  // 0 where the clock was set back since.
  ageMs: Math.max(0, state.nowMs - claimedMs),
});

function locate(state: MemoryState, key: string): GroupHome | undefined {
  if (state.groups.has(key)) return 'here';
  const found = state.claims.get(key);
  return found && view(state, found);
}

function claim(state: MemoryState, key: string, shard: number): GroupHome {
  if (state.groups.has(key)) return 'here';
  const found = state.claims.get(key);
  // Made anew by whoever wants the same: another one's claim must be able to grow old.
  if (found && found.shard !== shard) return view(state, found);
  const mine: ClaimRecord = found ?? { key, shard, claimedMs: 0, heapAt: -1 };
  mine.claimedMs = state.nowMs;
  state.claims.put(mine);
  return view(state, mine);
}

function check(state: MemoryState, key: string, claimedMs: number, isFound: boolean): boolean {
  const claimed = state.claims.get(key);
  if (claimed?.claimedMs !== claimedMs) return false;
  if (isFound) {
    claimed.claimedMs = state.nowMs;
    state.claims.put(claimed);
  } else state.claims.remove(claimed);
  return true;
}
