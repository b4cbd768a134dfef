import type { ConflictSize } from './conflict-plan.js';

/** How much happens in a run. */
export interface ConflictScale {
  /** Processes that run tasks in transactions that are READ COMMITTED. */
  readonly pollers: number;
  /** And in such that are SERIALIZABLE. */
  readonly strictPollers: number;
  readonly pushers: number;
  /** Tasks that one process runs at once. */
  readonly slots: number;
  readonly leaseMs: number;
  readonly size: ConflictSize;
  /** Rounds of hints lost for a while, then PostgreSQL frozen. */
  readonly rounds: number;
  readonly deafMs: number;
  readonly freezeMs: number;
  /** After the last fault everything ends within this. */
  readonly doneWithinMs: number;
}

/** How long a backend waits for a lock until it looks for a deadlock: a second by default. */
export const DEADLOCK_TIMEOUT_MS = 80;

/**
 * The numbers of the full run; in `npm test` fewer of everything.
 * @param scale - 1 for the full run.
 */
export function conflictScale(scale: number): ConflictScale {
  const isWhole = scale >= 1;
  const crew = isWhole
    ? { pollers: 4, strictPollers: 2, pushers: 2, slots: 4 }
    : { pollers: 1, strictPollers: 1, pushers: 1, slots: 6 };
  const probeTasks = (crew.pollers + crew.strictPollers) * crew.slots * (isWhole ? 20 : 4);
  return {
    ...crew,
    leaseMs: isWhole ? 3000 : 1000,
    size: isWhole
      ? { tasks: 1200, ms: [20, 100], arrivalMs: 40_000, pairs: 20, accounts: 24, probeTasks }
      : { tasks: 60, ms: [10, 60], arrivalMs: 1200, pairs: 2, accounts: 6, probeTasks },
    rounds: isWhole ? 4 : 1,
    deafMs: isWhole ? 5000 : 600,
    freezeMs: isWhole ? 3600 : 1200,
    doneWithinMs: 30_000,
  };
}
