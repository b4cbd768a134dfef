import type { LookAnswer, Watch } from '../ports.js';
import { cutRound } from './ending.js';
import { reconcile } from './reconcile.js';
import type { GroupRecord } from './records.js';
import type { MemoryState } from './state.js';
import { overdueCode, watchGroup } from './watched.js';

/** The watch on the memory state. */
export const memoryWatch = (state: MemoryState): Watch => ({
  look: async (max) => state.step(() => look(state, max)),
  reconcile: async (max, cursor) => state.step(() => reconcile(state, max, cursor)),
});

function look(state: MemoryState, max: number): LookAnswer {
  const timedOut: LookAnswer['timedOut'][number][] = [];
  let looked = 0;
  for (let group = due(state); group && looked < max; group = due(state)) {
    looked += 1;
    const code = overdueCode(state, group);
    if (code === undefined) {
      watchGroup(state, group);
      continue;
    }
    cutRound(state, group, 'FAILED', code);
    timedOut.push({ key: group.key, code, traceparent: group.traceparent });
  }
  callForAggregation(state);
  const next = state.watched.peek();
  return {
    timedOut,
    looked,
    more: due(state) !== undefined,
    ...(next && { nextInMs: Math.max(0, next.lookMs - state.nowMs) }),
  };
}

/** Whoever was told of an aggregation may be gone: one that nobody has taken up for so long is told of again. */
function callForAggregation(state: MemoryState): void {
  const { nowMs, config, aggregations } = state;
  const first = aggregations.peek()?.aggregation;
  if (!first || first.freeMs > nowMs) return;
  if (nowMs - first.sinceMs >= config.watcher.staleGroupThresholdMs) state.ring('aggregate');
}

function due(state: MemoryState): GroupRecord | undefined {
  const group = state.watched.peek();
  return group && group.lookMs <= state.nowMs ? group : undefined;
}
