-- purpose:   congestion control begins anew with a group.
-- guarantee: moves no job; a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      settings key
-- returns:   {'done', status, changed} | {'ended', status} | {'not-found'}
-- cost:      O(log groups).

-- include: when-full
-- include: moves
local g = group(ARGV[2])
if not g then return {'not-found'} end
if hasEnded(g.status) then return {'ended', g.status} end
if not forgetSlowness(g) and g.throttled == 0 then return {'done', g.status, 0} end
g.throttled = 0
if g.throttledEpoch then g.throttledEpoch = nil end
if g.parked then unparkGroup(g) end
ring('fetch')
save()
return {'done', g.status, 1}
