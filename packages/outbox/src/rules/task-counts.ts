import type { JoinRule } from '../model.js';

/** How a join rule is stored; the number of `{ atLeast }` is what the task needs. */
export type JoinName = 'all' | 'any' | 'at-least' | 'all-done';

/**
 * The most parents that change the row of their child themselves. More of them would wait for each other at that one
 * row, so they write ticks, which a folder counts.
 */
export const DIRECT_PARENTS_MAX = 64;

/**
 * Whether a task has so many parents that they write ticks instead of changing its row.
 * @param parentCount - how many it has.
 */
export const isWide = (parentCount: number): boolean => parentCount > DIRECT_PARENTS_MAX;

/** Whether any end of a parent is what a task needs, not only a success. */
export const countsAnyEnd = (join: JoinName): boolean => join === 'all-done';

/** The name of a join rule. */
export const joinName = (join: JoinRule): JoinName => (typeof join === 'object' ? 'at-least' : join);

/**
 * How many of its parents a task needs before it can start: what its pre_cnt begins with.
 * @param parentCount - how many parents it has.
 */
export function neededParents(join: JoinRule, parentCount: number): number {
  if (typeof join === 'object') return join.atLeast;
  return join === 'any' ? Math.min(1, parentCount) : parentCount;
}
