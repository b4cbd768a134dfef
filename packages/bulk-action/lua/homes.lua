-- purpose:   claims on the places of groups that live in another shard than the one that their key names, as src/memory/shard.ts.
-- guarantee: a claim is in the list by key and in the list by age, or in neither.
-- defines:   Homes: isHere(key), claimOn(key) → {shard, claimedMs} or nil, reply(key, claim), put(key, shard), drop(key).
-- cost:      O(log claims) each.

-- include: settings
local Homes = {}
do
  local places, ages = base .. 'dir', base .. 'dirz'

  function Homes.isHere(key)
    return redis.call('HEXISTS', base .. 'gr', key) == 1
  end

  function Homes.claimOn(key)
    local shard = redis.call('HGET', places, key)
    if not shard then return nil end
    return {shard = shard, claimedMs = tonumber(redis.call('ZSCORE', ages, key)) or 0}
  end

  -- An age of 0 where the clock was set back since.
  function Homes.reply(key, claim)
    return {key, claim.shard, string.format('%d', claim.claimedMs), math.max(0, atMs - claim.claimedMs)}
  end

  function Homes.put(key, shard)
    redis.call('HSET', places, key, shard)
    redis.call('ZADD', ages, atMs, key)
    return {shard = shard, claimedMs = atMs}
  end

  function Homes.drop(key)
    redis.call('HDEL', places, key)
    redis.call('ZREM', ages, key)
  end
end
