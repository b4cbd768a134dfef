-- purpose:   where a group is whose key names this shard.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key
-- returns:   {'here'} | {key, shard, claimedMs, ageMs} | {}
-- cost:      O(1).

-- include: homes
local key = ARGV[2]
if Homes.isHere(key) then return {'here'} end
local claim = Homes.claimOn(key)
return claim and Homes.reply(key, claim) or {}
