import type { Chunk } from '../state/chunks.js';
import { queueOfChunk } from '../state/position.js';
import type { Group } from '../state/records.js';
import type { EngineState } from '../state/state.js';
import { refresh } from './order.js';

/** Entries of chunks that have gone are removed from the list once it is this long and has doubled. */
const SWEEP_MIN = 1_024;

/** Removes the lines of the oldest chunks until all fit into the budget. The newest one stays, so that work goes on. */
export function evictChunks(state: EngineState): void {
  const { windowBytesMax } = state.config;
  let from = 0;
  while (state.loadedBytes > windowBytesMax && from < state.loaded.length - 1) {
    const { group, chunk } = state.loaded[from] as (typeof state.loaded)[number];
    if (chunk.bytes > 0) evict(state, group, chunk);
    from += 1;
  }
  if (from > 0) state.loaded.splice(0, from);
  if (state.loaded.length < state.sweepAt) return;
  state.loaded = state.loaded.filter(({ chunk }) => chunk.bytes > 0);
  state.sweepAt = Math.max(SWEEP_MIN, 2 * state.loaded.length);
}

function evict(state: EngineState, group: Group, chunk: Chunk): void {
  state.loadedBytes -= chunk.bytes;
  chunk.bytes = 0;
  chunk.lines = [];
  chunk.isEvicted = true;
  const queue = group.queues[queueOfChunk(chunk.address)];
  const at = queue?.loaded.indexOf(chunk) ?? -1;
  if (!queue || at < 0) return;
  for (const { jobs } of queue.loaded.splice(at)) queue.loadedJobs -= jobs;
  if (at > 0 || !group.head || group.head.isFromFront) return;
  group.head = undefined;
  refresh(state, group);
}
