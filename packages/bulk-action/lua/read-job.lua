-- purpose:   one job.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key jobId
-- returns:   JSON of a JobView | nil
-- cost:      O(ready).

-- include: json
local g = group(ARGV[2])
local r = g and recordOf(g.key, ARGV[3])
if not r then return false end
return (jobJson(g, ARGV[3], r, true))
