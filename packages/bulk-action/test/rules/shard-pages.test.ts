import { type Rng, seededRng } from '@millrace/foundation';
import { describe, expect, it } from 'vitest';
import { cursorOf, isCursor, mergePages, plainCursor, positionsOf } from '../../src/rules/shard-pages.js';
import type { MarkedPage } from '../../src/shard-port.js';
import { numbers } from '../store-contract/tools.js';

const timeOf = (item: number): number => item;

describe('bulk-action BA-13: pages of several shards', () => {
  it('bulk-action BA-13: the newest first, and the cursor stands in the middle of a page', () => {
    const pages: MarkedPage<number>[] = [
      { items: [9, 5], marks: ['8', '4'] },
      { items: [7, 6, 1], marks: ['6', '5', '0'], cursor: '0' },
    ];
    const merged = mergePages([{}, {}], pages, 3, timeOf);
    expect(merged).toEqual({ items: [9, 7, 6], cursor: '8.5' });
  });

  it('bulk-action BA-13: ends early where the next item of a shard is not known', () => {
    const pages: MarkedPage<number>[] = [
      { items: [9], marks: ['8'], cursor: '8' },
      { items: [7, 6], marks: ['6', '5'] },
    ];
    expect(mergePages([{}, {}], pages, 10, timeOf)).toEqual({ items: [9], cursor: '8.' });
    // Not even one: its place has moved on all the same.
    const nothing: MarkedPage<number> = { items: [], marks: [], cursor: '3' };
    const second = { items: [7], marks: ['6'] };
    expect(mergePages([{ cursor: '8' }, {}], [nothing, second], 10, timeOf)).toEqual({
      items: [],
      cursor: '3.',
    });
  });

  it('bulk-action BA-13: has no cursor when all have ended', () => {
    const pages = [{ items: [9], marks: ['8'] }, undefined];
    expect(mergePages([{}, 'ended'], pages, 1, timeOf)).toEqual({ items: [9] });
  });

  it('bulk-action BA-13: a cursor is read as it was written', () => {
    const positions = [{}, { cursor: '17' }, 'ended'] as const;
    expect(positionsOf(cursorOf(positions), 3)).toEqual(positions);
    expect(cursorOf(['ended', 'ended'])).toBeUndefined();
    expect(positionsOf(undefined, 2)).toEqual([{}, {}]);
  });

  it('bulk-action BA-13: a text that no list has made is no cursor', () => {
    for (const cursor of ['0', '17', '8.', '.', '-.17.', '1.2']) expect(isCursor(cursor), cursor).toBe(true);
    for (const cursor of ['', '-1', '-1000000000', '1e9', 'abc', '+inf', '(5', ' 1', '1\n', `${10 ** 16}`])
      expect(isCursor(cursor), cursor).toBe(false);
    expect(plainCursor('17')).toBe('17');
    for (const cursor of ['8.', '-', '-1', undefined]) expect(plainCursor(cursor)).toBeUndefined();
  });

  it.each(numbers(40))(
    'bulk-action BA-13: lists in pages of any length come out whole and in order (seed %i)',
    (seed) => {
      const rng = seededRng(seed);
      const lists = numbers(rng.integer(1, 5)).map(() => drawList(rng));
      const told: number[] = [];
      let cursor: string | undefined;
      for (let pages = 0; pages < 2000; pages++) {
        const limit = rng.integer(1, 6);
        const positions = positionsOf(cursor, lists.length);
        const parts = positions.map((position, at) =>
          position === 'ended' ? undefined : pageOf(rng, lists[at] ?? [], limit, position.cursor),
        );
        const page = mergePages(positions, parts, limit, timeOf);
        expect(page.items.length).toBeLessThanOrEqual(limit);
        told.push(...page.items);
        cursor = page.cursor;
        if (cursor === undefined) break;
      }
      expect(cursor).toBeUndefined();
      expect(told).toEqual(lists.flat().toSorted((a, b) => b - a));
    },
  );
});

const drawList = (rng: Rng): number[] =>
  numbers(rng.integer(0, 30))
    .map(() => rng.integer(1, 50))
    .sort((a, b) => b - a);

/** A page that may be short, as one is whose filter matches little. Cursors are places in the list. */
function pageOf(
  rng: Rng,
  list: readonly number[],
  limit: number,
  cursor: string | undefined,
): MarkedPage<number> {
  const from = Number(cursor ?? 0);
  const looks = rng.integer(0, 2) === 0 ? rng.integer(1, limit) : limit;
  const items = list.slice(from, from + looks);
  const next = from + looks;
  return {
    items,
    marks: items.map((_, at) => String(from + at + 1)),
    ...(next < list.length && { cursor: String(next) }),
  };
}
