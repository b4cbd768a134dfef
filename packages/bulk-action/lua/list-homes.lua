-- purpose:   claims that are to be looked at, the oldest first.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings ageMs max
-- returns:   {key, shard, claimedMs, ageMs, …}
-- cost:      O(max × log claims).

-- include: homes
local reply = {}
local keys = redis.call('ZRANGEBYSCORE', base .. 'dirz', '-inf', atMs - tonumber(ARGV[2]), 'LIMIT', 0, ARGV[3])
for n = 1, #keys do
  local claim = Homes.claimOn(keys[n])
  for _, value in ipairs(claim and Homes.reply(keys[n], claim) or {}) do reply[#reply + 1] = value end
end
return reply
