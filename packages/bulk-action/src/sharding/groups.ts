import { ERRORS } from '../errors.js';
import type { AddAnswer, GroupAnswer, GroupDefinition, GroupStore } from '../ports.js';
import type { Added, Made } from '../refusals.js';
import { groupIdOf } from '../rules/ids.js';
import { CLAIM_GRACE_MS } from '../rules/shard-homes.js';
import type { BulkShard, GroupHome, HomeClaim, Shard } from '../shard-port.js';
import type { Places } from './places.js';
import type { Shards } from './shards.js';

/** Claims that may grow old or go while a place is looked for. */
const PLACE_TRIES = 3;

const isUnknown = ({ kind }: { readonly kind: string }): boolean => kind === 'not-found';

/** Groups and tenants over several shards. */
export function shardedGroups(shards: Shards, places: Places): GroupStore {
  const change = <T extends { readonly kind: string } = GroupAnswer>(
    key: string,
    call: (groups: GroupStore) => Promise<T>,
  ): Promise<T> => places.at(key, ({ groups }) => call(groups), isUnknown);
  return {
    async create(definition) {
      const make = (shard: Shard): Promise<Made> => shard.create(definition);
      const answer = await place(shards, places, definition, make, (made) => made === 'elsewhere');
      // Whoever has claimed it gave another unit: another definition.
      return answer === undefined || answer === 'elsewhere' ? 'conflict' : answer;
    },
    async add(definition, jobs, incoming) {
      const make = (shard: Shard): Promise<Added> => shard.add(definition, jobs, incoming);
      const answer = await place(shards, places, definition, make, ({ kind }) => kind === 'elsewhere');
      if (answer === undefined || answer.kind === 'elsewhere') throw isBeingMade(definition);
      return answer satisfies AddAnswer;
    },
    seal: (key, total) => change(key, (groups) => groups.seal(key, total)),
    cancel: (key) => change(key, (groups) => groups.cancel(key)),
    pause: (key) => change(key, (groups) => groups.pause(key)),
    resume: (key) => change(key, (groups) => groups.resume(key)),
    forgetSlowness: (key) => change(key, (groups) => groups.forgetSlowness(key)),
    update: (key, patch) => change(key, (groups) => groups.update(key, patch)),
    updateTenant: (tenantId, patch) => shards.at(shards.of(tenantId)).groups.updateTenant(tenantId, patch),
  };
}

const isBeingMade = ({ key }: GroupDefinition) =>
  ERRORS.create('BACKEND_UNAVAILABLE', {
    reason: `the group ${groupIdOf(key)} is being made by somebody else, with another tenantId`,
  });

/**
 * Makes something in the shard where a group is, or is to be: that of its unit. Where that is not its home, the home is told
 * before; so of two who give different units at the same time one finds the claim of the other.
 * @param make - makes the group where it is not.
 * @param isElsewhere - whether it was refused, because the group is claimed for another shard.
 * @returns undefined: somebody else is about to make the group, with another unit.
 */
async function place<T>(
  shards: Shards,
  places: Places,
  { key, tenantId }: GroupDefinition,
  make: (shard: Shard) => Promise<T>,
  isElsewhere: (answer: T) => boolean,
): Promise<T | undefined> {
  const home = shards.at(shards.homeOf(key));
  const wanted = shards.of(tenantId);
  for (let tries = 0; tries < PLACE_TRIES; tries++) {
    let claim: GroupHome | undefined;
    if (shards.at(wanted) !== home) claim = await home.shard.claim(key, wanted);
    if (claim === undefined || claim === 'here') {
      const answer = await make(home.shard);
      if (!isElsewhere(answer)) return answer;
      claim = await home.shard.locate(key);
      // Gone meanwhile, or the group has come home.
      if (claim === undefined || claim === 'here') continue;
    }
    const { shard } = claim;
    const there = shards.stores[shard];
    if (there && (shard === wanted || (await there.views.group(key)))) {
      places.note(key, shard);
      return make(there.shard);
    }
    if (claim.ageMs < CLAIM_GRACE_MS) return undefined;
    await removeClaim(home, claim);
  }
  return undefined;
}

/** Whoever made it has died before the group was made. */
const removeClaim = (home: BulkShard, { key, claimedMs }: HomeClaim): Promise<boolean> =>
  home.shard.check(key, claimedMs, false);
