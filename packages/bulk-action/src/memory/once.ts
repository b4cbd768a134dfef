import type { IdempotencyStore } from '../ports.js';
import { IndexedHeap } from './indexed-heap.js';
import type { MemoryState } from './state.js';

interface Entry {
  readonly key: string;
  token: string;
  /** There once the work is done. */
  result: string | undefined;
  untilMs: number;
  heapAt: number;
}

/** Expired entries removed with every call: more than can be added by it. */
const REMOVED_PER_STEP = 16;

/** Effects that happen once, on the memory state. */
export function memoryOnce(state: MemoryState): IdempotencyStore {
  const entries = new Map<string, Entry>();
  const byEnd = new IndexedHeap<Entry, 'heapAt'>('heapAt', (a, b) => a.untilMs < b.untilMs);

  const removeExpired = () => {
    for (let count = 0; count < REMOVED_PER_STEP; count++) {
      const first = byEnd.peek();
      if (!first || first.untilMs > state.nowMs) return;
      byEnd.remove(first);
      entries.delete(first.key);
    }
  };
  const current = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    return entry && entry.untilMs > state.nowMs ? entry : undefined;
  };
  /** The entry, while this token works on it. */
  const heldBy = (key: string, token: string): Entry | undefined => {
    const entry = current(key);
    return entry?.token === token && entry.result === undefined ? entry : undefined;
  };
  const keepUntil = (entry: Entry, untilMs: number) => {
    entry.untilMs = untilMs;
    entries.set(entry.key, entry);
    byEnd.put(entry);
  };

  return {
    begin: async (key, token, leaseMs) =>
      state.step(() => {
        removeExpired();
        const entry = current(key);
        if (entry?.result !== undefined) return { kind: 'done', result: entry.result };
        if (entry && entry.token !== token) return { kind: 'busy', retryInMs: entry.untilMs - state.nowMs };
        const mine = entries.get(key) ?? { key, token, result: undefined, untilMs: 0, heapAt: -1 };
        mine.token = token;
        mine.result = undefined;
        keepUntil(mine, state.nowMs + leaseMs);
        return { kind: 'run' };
      }),
    renew: async (key, token, leaseMs) =>
      state.step(() => {
        const entry = heldBy(key, token);
        if (entry) keepUntil(entry, state.nowMs + leaseMs);
        return entry !== undefined;
      }),
    finish: async (key, token, result, ttlMs) =>
      state.step(() => {
        // The same token again: the answer was lost. After its lease, too: the effect has happened, and nobody else has begun it.
        const now = current(key);
        if (now && now.token !== token) return false;
        const entry = entries.get(key) ?? { key, token, result, untilMs: 0, heapAt: -1 };
        entry.token = token;
        entry.result = result;
        keepUntil(entry, state.nowMs + ttlMs);
        return true;
      }),
    release: async (key, token) =>
      state.step(() => {
        const entry = heldBy(key, token);
        if (!entry) return;
        byEnd.remove(entry);
        entries.delete(key);
      }),
  };
}
