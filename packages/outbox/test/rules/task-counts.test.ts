import { describe, expect, it } from 'vitest';
import type { JoinRule } from '../../src/model.js';
import {
  countsAnyEnd,
  DIRECT_PARENTS_MAX,
  isWide,
  joinName,
  neededParents,
} from '../../src/rules/task-counts.js';

describe('outbox OB-1: what a task waits for', () => {
  it.each<[JoinRule, number, string, number]>([
    ['all', 0, 'all', 0],
    ['all', 3, 'all', 3],
    ['all-done', 3, 'all-done', 3],
    ['any', 3, 'any', 1],
    [{ atLeast: 2 }, 3, 'at-least', 2],
  ])('outbox OB-1: join %j of %i parents is stored as %s and needs %i', (join, parents, name, needed) => {
    expect(joinName(join)).toBe(name);
    expect(neededParents(join, parents)).toBe(needed);
  });

  it('outbox OB-1: only all-done counts any end of a parent', () => {
    expect((['all', 'any', 'at-least', 'all-done'] as const).filter(countsAnyEnd)).toEqual(['all-done']);
  });

  it('outbox OB-11: joins wider than 64 are counted by ticks', () => {
    expect(DIRECT_PARENTS_MAX).toBe(64);
    expect([0, 64, 65].map(isWide)).toEqual([false, false, true]);
  });
});
