/** What decides when a poller claims next. */
export interface PaceFacts {
  /** Number of free slots. */
  readonly free: number;
  readonly concurrency: number;
  /** True if a hint of work has arrived. */
  readonly isWoken: boolean;
  /** True if more tasks can run than there are slots for. */
  readonly hasMore: boolean;
  /** Time since the last claim. */
  readonly sinceMs: number;
  /** Pause between claims without a hint. */
  readonly intervalMs: number;
}

/** Pause after a hint, so that one claim serves hints that arrive together. */
const WOKEN_MS = 1;

/** Pause for more free slots when tasks are waiting, so that one statement claims many of them. */
const TOGETHER_MS = 5;

/** Returns the pause before the next claim if nothing changes: 0 for now, Infinity until a slot is free. */
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
