import type { LeaseRef } from '../lease.js';
import type { Leases } from '../ports.js';
import { shardToken } from '../rules/shard-tokens.js';
import type { Places } from './places.js';
import { Reserving } from './reserving.js';
import { type Shards, together } from './shards.js';

/** Leases over several shards. */
export function shardedLeases(shards: Shards, places: Places): Leases {
  const reserving = new Reserving(shards, places);
  const split = <I extends LeaseRef, A>(
    items: readonly I[],
    call: (leases: Leases, items: readonly I[]) => Promise<readonly A[]>,
    isMissing: (answer: A) => boolean,
  ) => splitByShard(shards, places, items, call, isMissing);
  return {
    reserve: (request) => reserving.reserve(request),
    renew: (leases) =>
      split(
        leases,
        (shard, part) => shard.renew(part),
        (answer) => answer === 'lost',
      ),
    settle: (settlements) =>
      split(
        settlements,
        (shard, part) => shard.settle(part),
        ({ status }) => status === 'gone',
      ),
    giveBack: (leases) =>
      split(
        leases,
        (shard, part) => shard.giveBack(part),
        (answer) => answer === 'gone',
      ),
    async recover(randoms) {
      const answers = await shards.working(({ leases }) => leases.recover(randoms));
      return {
        recovered: answers.reduce((sum, { recovered }) => sum + recovered, 0),
        dead: answers.flatMap(({ dead }) => dead),
        more: answers.some(({ more }) => more),
      };
    },
    async giveBackAll(instanceId, max) {
      const answers = await shards.working(({ leases }) => leases.giveBackAll(instanceId, max));
      return {
        returned: answers.reduce((sum, { returned }) => sum + returned, 0),
        more: answers.some(({ more }) => more),
      };
    },
    partOf: (key) => places.guess(key),
  };
}

/** Asks each shard for its own, all at once; who is not found is asked for once more where its home says. Answers in the order asked. */
async function splitByShard<I extends LeaseRef, A>(
  shards: Shards,
  places: Places,
  items: readonly I[],
  call: (leases: Leases, items: readonly I[]) => Promise<readonly A[]>,
  isMissing: (answer: A) => boolean,
): Promise<readonly A[]> {
  const answers = new Array<A>(items.length);
  const asked = items.map(({ key }) => places.guess(key));
  const ask = async (indexes: readonly number[]) => {
    const parts = new Map<number, number[]>();
    for (const index of indexes) {
      const shard = asked[index] as number;
      const part = parts.get(shard);
      if (part) part.push(index);
      else parts.set(shard, [index]);
    }
    const calls = [...parts].map(async ([shard, part]) => {
      const own = part.map((index) => {
        const item = items[index] as I;
        return { ...item, token: shardToken(item.token, shards.count, shard) };
      });
      const given = await call(shards.at(shard).leases, own);
      for (const [at, index] of part.entries()) answers[index] = given[at] as A;
    });
    await together(calls);
  };
  const all = [...items.keys()];
  await ask(all);
  const missing = all.filter((index) => isMissing(answers[index] as A));
  if (missing.length === 0) return answers;
  const keys = [...new Set(missing.map((index) => (items[index] as I).key))];
  const found = new Map(await together(keys.map(async (key) => [key, await places.find(key)] as const)));
  const again = missing.filter((index) => {
    const shard = found.get((items[index] as I).key);
    if (shard === undefined || shard === asked[index]) return false;
    asked[index] = shard;
    return true;
  });
  await ask(again);
  return answers;
}
