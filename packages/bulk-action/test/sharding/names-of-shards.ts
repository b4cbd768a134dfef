import { jumpHash } from '../../src/rules/jump-hash.js';
import { SHARDS } from './open-sharded.js';

/** The nth name, from 0, whose shard this is. */
export function nameIn(shard: number, nth = 0): string {
  for (let n = 0, found = 0; n < 10_000; n++) {
    const name = `n${n}`;
    if (jumpHash(name, SHARDS) !== shard) continue;
    if (found === nth) return name;
    found += 1;
  }
  throw new Error(`expected a name in shard ${shard}`);
}

/** A group without namespace whose home is this shard. */
export const keyAt = (shard: number, nth = 0): string => `/${nameIn(shard, nth)}`;
