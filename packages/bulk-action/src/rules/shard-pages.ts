import type { Page } from '../model.js';
import type { MarkedPage } from '../shard-port.js';

/*
 * One list out of the lists of several shards. Each shard's list is gone through in its own order, so nothing is skipped or told
 * twice, whatever the clocks of the shards say; which shard comes next is decided by time, as well as they agree on it.
 */

/** Where the list of a shard goes on: from its beginning, behind a cursor, or not at all. */
export type Position = { readonly cursor?: string } | 'ended';

const SEPARATOR = '.';
const ENDED = '-';
const PLAIN = /^\d{1,15}$/;
const MERGED = /^(?:\d{1,15}|-)?(?:\.(?:\d{1,15}|-)?)*$/;

/**
 * Whether a text may be the cursor of a list, of one shard or merged.
 * @param text - what a caller gave.
 */
export const isCursor = (text: string): boolean => text !== '' && MERGED.test(text);

/**
 * The cursor of the list of one shard; undefined for what is none, which begins anew.
 * @param cursor - what a caller gave.
 */
export const plainCursor = (cursor: string | undefined): string | undefined =>
  cursor !== undefined && PLAIN.test(cursor) ? cursor : undefined;

/**
 * Reads the cursor of a merged list.
 * @param cursor - of the page before; undefined for the first one. One that is not of this list begins anew where it makes no sense.
 * @param shards - how many there are.
 */
export function positionsOf(cursor: string | undefined, shards: number): Position[] {
  const parts = cursor?.split(SEPARATOR) ?? [];
  return Array.from({ length: shards }, (_, shard) => {
    const part = parts[shard] ?? '';
    if (part === ENDED) return 'ended';
    return PLAIN.test(part) ? { cursor: part } : {};
  });
}

/**
 * Writes the cursor of a merged list.
 * @param positions - one for each shard.
 * @returns undefined when all have ended.
 */
export function cursorOf(positions: readonly Position[]): string | undefined {
  if (positions.every((position) => position === 'ended')) return undefined;
  return positions
    .map((position) => (position === 'ended' ? ENDED : (position.cursor ?? '')))
    .join(SEPARATOR);
}

/**
 * Merges pages, newest first. It ends early where the next item of a shard is not known: that may be the newest.
 * @param positions - where each shard was asked from.
 * @param pages - what each has answered; undefined for one that had ended before.
 * @param limit - items at most.
 * @param timeOf - when an item came to be.
 */
export function mergePages<T>(
  positions: readonly Position[],
  pages: readonly (MarkedPage<T> | undefined)[],
  limit: number,
  timeOf: (item: T) => number,
): Page<T> {
  const taken = pages.map(() => 0);
  const items: T[] = [];
  while (items.length < limit) {
    const next = newest(pages, taken, timeOf);
    if (next === undefined) break;
    items.push(pages[next]?.items[taken[next] as number] as T);
    taken[next] = (taken[next] as number) + 1;
  }
  const cursor = cursorOf(
    pages.map((page, shard) => positionBehind(positions[shard] as Position, page, taken[shard] as number)),
  );
  return { items, ...(cursor !== undefined && { cursor }) };
}

/** The shard whose next item is the newest; the first of several. */
function newest<T>(
  pages: readonly (MarkedPage<T> | undefined)[],
  taken: readonly number[],
  timeOf: (item: T) => number,
): number | undefined {
  let found: number | undefined;
  let latest = Number.NEGATIVE_INFINITY;
  for (const [shard, page] of pages.entries()) {
    const at = taken[shard] as number;
    if (!page) continue;
    if (at >= page.items.length) {
      if (page.cursor !== undefined) return undefined;
      continue;
    }
    const time = timeOf(page.items[at] as T);
    if (time > latest) [found, latest] = [shard, time];
  }
  return found;
}

function positionBehind<T>(before: Position, page: MarkedPage<T> | undefined, taken: number): Position {
  if (!page) return 'ended';
  if (taken === page.items.length) return page.cursor === undefined ? 'ended' : { cursor: page.cursor };
  return taken === 0 ? before : { cursor: page.marks[taken - 1] as string };
}
