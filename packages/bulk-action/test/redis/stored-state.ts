import type { RedisConnection } from '@millrace/redis';
import { listed, type StoreHarness } from '../store-contract/tools.js';

/** What a key holds, lists in their order, everything else sorted; packed values opened, since their fields have no order. */
const DUMP = `
local function open(value)
  local ok, record = pcall(cmsgpack.unpack, value)
  if not ok or type(record) ~= 'table' then return 'text ' .. value end
  local named, json = pcall(cjson.encode, record)
  return named and 'packed ' .. json or 'text ' .. value
end
local function pairsOf(flat)
  local list = {}
  for n = 1, #flat, 2 do list[#list + 1] = flat[n] .. ' = ' .. open(flat[n + 1]) end
  return list
end
local key, kind = KEYS[1], redis.call('TYPE', KEYS[1]).ok
local list = {}
if kind == 'string' then list = {open(redis.call('GET', key))}
elseif kind == 'hash' then list = pairsOf(redis.call('HGETALL', key))
elseif kind == 'zset' then list = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
elseif kind == 'set' then list = redis.call('SMEMBERS', key)
else
  for n, value in ipairs(redis.call('LRANGE', key, 0, -1)) do list[n] = open(value) end
end
return {kind, list}
`;

/** A value as it was dumped: a packed one as an object. */
function opened(text: string): unknown {
  const [, before = '', packed] = /^(.*?)packed (.*)$/s.exec(text) ?? [];
  return packed === undefined ? text : { before, packed: JSON.parse(packed) };
}

/**
 * All keys of a store with their types and values, whatever their layout is.
 * @param keyPrefix - of the store; left out of the answer, so that two stores can be compared.
 */
export async function dumpOf(admin: RedisConnection, keyPrefix: string): Promise<Record<string, unknown>> {
  const keys = ((await admin.call('KEYS', [`${keyPrefix}{*`])) as string[]).sort();
  const entries = await Promise.all(
    keys.map(async (key) => {
      const [type, values] = (await admin.call('EVAL', [DUMP, 1, key])) as [string, string[]];
      const inOrder = type === 'hash' || type === 'set' ? values.sort() : values;
      return [key.slice(keyPrefix.length), { type, values: inOrder.map(opened) }] as const;
    }),
  );
  return Object.fromEntries(entries);
}

const LIMIT = 1000;
const idOf = ({ tenant, id }: { tenant: string; id: string }) => (tenant === '' ? `/${id}` : id);

/** Everything that the ports show of a store. */
export async function pictureOf({ store }: StoreHarness): Promise<unknown> {
  const { views, deadLetters, instances } = store;
  const groups = await listed((cursor) => views.groups({}, LIMIT, cursor));
  const each = groups.map(async (group) => {
    const key = idOf(group);
    const jobs = await listed((cursor) => views.jobs(key, {}, LIMIT, cursor));
    const explained = await Promise.all(jobs.map(({ id }) => views.explain(key, id)));
    return {
      group,
      jobs,
      explained,
      result: await views.result(key),
      tenant: await views.tenant(group.tenantId),
    };
  });
  return {
    queues: await views.queues(),
    groups: await Promise.all(each),
    fairness: await views.fairness(LIMIT),
    letters: await listed((cursor) => deadLetters.list({}, LIMIT, cursor)),
    signatures: await deadLetters.signatures({}, LIMIT),
    instances: await instances.list(),
  };
}
