/** What a poller knows when it asks itself how long to wait for its next claim. */
export interface PaceFacts {
  /** Slots without a task. */
  readonly free: number;
  readonly concurrency: number;
  /** Somebody said that there is work. */
  readonly isWoken: boolean;
  /** The last claim took all it asked for. */
  readonly hasMore: boolean;
  /** Since the last claim. */
  readonly sinceMs: number;
  /** Between looks that nobody asked for. */
  readonly intervalMs: number;
}

/** Hints that come together are answered by one claim. */
const WOKEN_MS = 1;

/** With more waiting and few slots free, a claim waits this long for more of them: one statement for many tasks instead of one each. */
const TOGETHER_MS = 5;

/**
 * How long to wait before the next claim, if nothing changes.
 * @returns milliseconds; 0 means now, Infinity not before a slot is free.
 */
export function claimPauseMs({
  free,
  concurrency,
  isWoken,
  hasMore,
  sinceMs,
  intervalMs,
}: PaceFacts): number {
  if (free <= 0) return Number.POSITIVE_INFINITY;
  if (hasMore && free * 2 >= concurrency) return 0;
  const waitMs = hasMore ? TOGETHER_MS : isWoken ? WOKEN_MS : intervalMs;
  return Math.max(0, waitMs - sinceMs);
}
