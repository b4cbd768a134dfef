-- purpose:   end a look at a claim: its group was found, or it was not.
-- guarantee: only the claim that was looked at is removed, or counts from now on; a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      settings key claimedMs found
-- returns:   1 it was that one, 0 it was another one or none
-- cost:      O(log claims).

-- include: when-full
-- include: homes
local key = ARGV[2]
local claim = Homes.claimOn(key)
if not claim or claim.claimedMs ~= tonumber(ARGV[3]) then return 0 end
if ARGV[4] == '1' then Homes.put(key, claim.shard) else Homes.drop(key) end
return 1
