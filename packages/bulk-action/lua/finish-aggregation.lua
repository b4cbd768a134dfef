-- purpose:   write what the results of a group came to, and end its round as COMPLETED.
-- guarantee: exactly one token does; the same token again gets the same answer.
-- KEYS:      meta
-- ARGV:      settings key round token data
-- returns:   done | lost
-- cost:      O(size of the result).

-- include: when-full
-- include: aggregating
local key, round, token, data = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local g = heldAggregation(key, round, token)
if not g then return answeredBefore(key, round, token) == 'done' and 'done' or 'lost' end
endRound(g, 'COMPLETED', data ~= '' and data or nil)
g.aggd = {token = token, answer = 'done'}
save()
return 'done'
