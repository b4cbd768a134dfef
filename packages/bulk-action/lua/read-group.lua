-- purpose:   one group.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key
-- returns:   JSON of a GroupView | nil
-- cost:      O(1).

-- include: json
local g = group(ARGV[2])
return g and groupJson(g) or false
