import type { JoinRule } from '../model.js';

/** The stored name of a join rule. The number of `{ atLeast }` is stored with the task. */
export type JoinName = 'all' | 'any' | 'at-least' | 'all-done';

/**
 * Maximum number of parents that update the row of their child themselves. More of them would wait for each other at that
 * row, so they write ticks, which the folder counts.
 */
export const DIRECT_PARENTS_MAX = 64;

/** Reports whether a task has so many parents that they write ticks instead of updating its row. */
export const isWide = (parentCount: number): boolean => parentCount > DIRECT_PARENTS_MAX;

/** Reports whether any end of a parent counts, not only a success. */
export const countsAnyEnd = (join: JoinName): boolean => join === 'all-done';

/** Returns the stored name of a join rule. */
export const joinName = (join: JoinRule): JoinName => (typeof join === 'object' ? 'at-least' : join);

/** Returns the number of parents that a task needs before it can start, which is its first pre_cnt. */
export function neededParents(join: JoinRule, parentCount: number): number {
  if (typeof join === 'object') return join.atLeast;
  return join === 'any' ? Math.min(1, parentCount) : parentCount;
}
