import type { Upkeep, Watch } from '../ports.js';
import { CLAIM_GRACE_MS } from '../rules/shard-homes.js';
import { cursorOf, type Position, positionsOf } from '../rules/shard-pages.js';
import type { BulkShard, HomeClaim } from '../shard-port.js';
import type { Shards } from './shards.js';
import { soonest } from './soonest.js';

/** Claims that one sweep of a shard looks at. */
const CLAIMS_PER_SWEEP = 16;

/** Upkeep of several shards, and of what they know of each other. */
export const shardedUpkeep = (shards: Shards): Upkeep => ({
  async sweep(max) {
    const answers = await shards.working(async (store) => {
      const answer = await store.upkeep.sweep(max);
      const claims = await sweepClaims(shards, store);
      return { ...answer, swept: answer.swept + claims.removed, more: answer.more || claims.more };
    });
    return {
      swept: answers.reduce((sum, { swept }) => sum + swept, 0),
      more: answers.some(({ more }) => more),
      ...soonest(answers),
    };
  },
});

/** Removes claims whose group is gone, or never came to be. */
async function sweepClaims(
  shards: Shards,
  { shard: home }: BulkShard,
): Promise<{ readonly removed: number; readonly more: boolean }> {
  const claims = await home.claims(CLAIM_GRACE_MS, CLAIMS_PER_SWEEP);
  let removed = 0;
  let unclear = 0;
  for (const claim of claims) {
    const found = await hasGroup(shards, claim);
    if (found === undefined) unclear += 1;
    else if ((await home.check(claim.key, claim.claimedMs, found)) && !found) removed += 1;
  }
  // Those that nothing can be said of now would come again at once.
  return { removed, more: claims.length === CLAIMS_PER_SWEEP && unclear === 0 };
}

/** Whether the group is where the claim says; undefined when that shard does not answer. */
async function hasGroup(shards: Shards, { key, shard }: HomeClaim): Promise<boolean | undefined> {
  const store = shards.stores[shard];
  if (!store) return false;
  if (!shards.works(shard)) return undefined;
  try {
    return (await store.views.group(key)) !== undefined;
  } catch {
    return undefined;
  }
}

/** The watch over several shards. */
export const shardedWatch = (shards: Shards): Watch => ({
  async look(max) {
    const answers = await shards.working(({ watch }) => watch.look(max));
    return {
      timedOut: answers.flatMap(({ timedOut }) => timedOut),
      looked: answers.reduce((sum, { looked }) => sum + looked, 0),
      more: answers.some(({ more }) => more),
      ...soonest(answers),
    };
  },
  async reconcile(max, cursor) {
    const before = positionsOf(cursor, shards.count);
    // A shard that does not answer is left out until the next time through.
    const after: Position[] = before.map(() => 'ended');
    const answers = await shards.working(async ({ watch }, shard) => {
      const position = before[shard];
      if (position === 'ended' || position === undefined) return { looked: 0, repaired: 0 };
      const answer = await watch.reconcile(max, position.cursor);
      if (answer.cursor !== undefined) after[shard] = { cursor: answer.cursor };
      return answer;
    });
    const next = cursorOf(after);
    return {
      looked: answers.reduce((sum, { looked }) => sum + looked, 0),
      repaired: answers.reduce((sum, { repaired }) => sum + repaired, 0),
      ...(next !== undefined && { cursor: next }),
    };
  },
});
