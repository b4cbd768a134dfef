-- purpose:   hold the lock on the results of a group longer, or give it back.
-- guarantee: only the token that holds it changes it.
-- KEYS:      meta
-- ARGV:      settings key round token ttlMs
-- returns:   1 held, 0 lost
-- cost:      O(log aggregations).

-- include: when-full
-- include: aggregating
local ttlMs = tonumber(ARGV[5])
local g = heldAggregation(ARGV[2], tonumber(ARGV[3]), ARGV[4])
if not g then return 0 end
freeAggregationIn(g, ttlMs)
if ttlMs == 0 then ring('aggregate') end
save()
return 1
