import type { DeadLetterFilter, DeadLetterStore } from '../ports.js';
import { mergePages, positionsOf } from '../rules/shard-pages.js';
import { mergeSignatures } from '../rules/shard-views.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';

/** Dead letters over several shards. */
export function shardedDeadLetters(shards: Shards, places: Places): DeadLetterStore {
  const move = async (verb: 'redrive' | 'purge', filter: DeadLetterFilter, max: number) => {
    const { key } = filter;
    if (key !== undefined) {
      return places.at(
        key,
        ({ deadLetters }) => deadLetters[verb](filter, max),
        ({ moved, more }) => moved === 0 && !more,
      );
    }
    let moved = 0;
    for (const { deadLetters } of shards.stores) {
      if (moved === max) {
        const { items } = await deadLetters.list(filter, 1);
        if (items.length > 0) return { moved, more: true };
        continue;
      }
      const answer = await deadLetters[verb](filter, max - moved);
      moved += answer.moved;
      if (answer.more) return { moved, more: true };
    }
    return { moved, more: false };
  };
  return {
    async list(filter, limit, cursor) {
      const { key } = filter;
      if (key !== undefined) {
        return places.at(
          key,
          ({ deadLetters }) => deadLetters.list(filter, limit, cursor),
          ({ items }) => items.length === 0,
        );
      }
      const positions = positionsOf(cursor, shards.count);
      const pages = await shards.all(async ({ shard }, at) => {
        const position = positions[at];
        return position === 'ended' ? undefined : shard.letters(filter, limit, position?.cursor);
      });
      return mergePages(positions, pages, limit, ({ failedAt }) => failedAt);
    },
    async signatures(filter, limit) {
      const all = await shards.all(({ deadLetters }) =>
        deadLetters.signatures(filter, Number.POSITIVE_INFINITY),
      );
      return mergeSignatures(all, limit);
    },
    redrive: (filter, max) => move('redrive', filter, max),
    purge: (filter, max) => move('purge', filter, max),
  };
}
