-- purpose:   whether a start of this cost has its tokens now.
-- guarantee: spends nothing, changes nothing.
-- KEYS:      meta
-- ARGV:      settings key cost
-- returns:   {waitMs} | {}
-- cost:      O(1).

-- include: gate
local g = group(ARGV[2])
if not g then return {} end
return {math.max(0, math.ceil((rateSlot(g, tonumber(ARGV[3])) - atUs) / 1000))}
