import type { Rng } from '@millrace/foundation';
import type { GroupKey } from '../../src/model.js';
import { group } from '../store-contract/tools.js';
import type { Command } from './commands.js';

/** Groups that only these commands speak of: one that is claimed for another shard would be lost for all others. */
const AWAY: readonly GroupKey[] = ['/away', '/away-2', 'a/away'];
const SHARDS = [1, 2];
const AGES_MS = [0, 1000, 60_000];

/** Draws a command of a store as one of several shards; now and then about a group that is here. */
export function drawHome(rng: Rng, keys: readonly GroupKey[]): Command {
  const key = rng.pick(AWAY);
  switch (rng.integer(0, 8)) {
    case 0:
      return { kind: 'createHere', definition: group(key, { weight: rng.integer(1, 2) }) };
    case 1:
      return { kind: 'addHere', definition: group(key), jobs: [], incoming: 0 };
    case 2:
      return { kind: 'locate', key: rng.chance(0.2) ? rng.pick(keys) : key };
    case 3:
      return { kind: 'claims', ageMs: rng.pick(AGES_MS), max: rng.integer(1, 3) };
    case 4:
    case 5:
      return { kind: 'checkHome', key, found: rng.chance(0.3), ...(rng.chance(0.2) && { stale: true }) };
    default:
      return { kind: 'claimHome', key, shard: rng.pick(SHARDS) };
  }
}
