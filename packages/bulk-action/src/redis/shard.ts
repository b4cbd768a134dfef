import type { HomeClaim, Shard } from '../shard-port.js';
import { listLetters } from './dead-letters.js';
import type { EngineLink } from './engine-link.js';
import { add, create } from './groups.js';
import type { Values } from './scripts.js';
import { listGroups } from './views.js';

const VALUES = 4;

/** The engine on Redis as one of several shards. */
export const redisShard = (link: EngineLink): Shard => ({
  create: (definition) => create(link, definition),
  add: (definition, jobs, incoming) => add(link, definition, jobs, incoming),
  async claim(key, shard) {
    const reply = await link.run('claimHome', { key, shard });
    return reply[0] === 'here' ? 'here' : claimOf(reply);
  },
  async locate(key) {
    const reply = await link.run('readHome', { key });
    if (reply.length === 0) return undefined;
    return reply[0] === 'here' ? 'here' : claimOf(reply);
  },
  async claims(ageMs, max) {
    const reply = await link.run('listHomes', { ageMs, max });
    return Array.from({ length: reply.length / VALUES }, (_, index) => claimOf(reply.slice(index * VALUES)));
  },
  check: async (key, claimedMs, found) =>
    (await link.run('checkHome', { key, claimedMs, found: found ? 1 : 0 })) === 1,
  groups: (filter, limit, cursor) => listGroups(link, filter, limit, cursor),
  letters: (filter, limit, cursor) => listLetters(link, filter, limit, cursor),
});

const claimOf = ([key, shard, claimedMs, ageMs]: Values): HomeClaim => ({
  key: String(key),
  shard: Number(shard),
  claimedMs: Number(claimedMs),
  ageMs: Number(ageMs),
});
