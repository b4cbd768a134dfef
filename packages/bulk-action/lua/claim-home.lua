-- purpose:   claim the place of a group for another shard, before it is made there.
-- guarantee: a group that is here, or claimed for a third shard, is left where it is; the same claim again is made anew.
-- KEYS:      meta
-- ARGV:      settings key shard
-- returns:   {'here'} | {key, shard, claimedMs, ageMs}
-- cost:      O(log claims).

-- include: homes
local key, shard = ARGV[2], ARGV[3]
if Homes.isHere(key) then return {'here'} end
local claim = Homes.claimOn(key)
-- Another one's claim must be able to grow old.
if not claim or claim.shard == shard then claim = Homes.put(key, shard) end
return Homes.reply(key, claim)
