-- purpose:   end the registration of a group.
-- guarantee: a wrong total changes nothing; a repeat changes nothing; an empty group completes at once.
-- KEYS:      meta
-- ARGV:      settings key total
-- returns:   {'done', status, changed} | {'ended', status} | {'not-found'} | {'mismatch', registered}
-- cost:      O(1).

-- include: when-full
-- include: moves
local g = group(ARGV[2])
if not g then return {'not-found'} end
local total = tonumber(ARGV[3])
if total and total ~= g.registered then return {'mismatch', g.registered} end
if g.sealed then return {'done', g.status, 0} end
if hasEnded(g.status) then return {'ended', g.status} end
g.sealed = true
g.status = g.startedAt and 'RUNNING' or 'DISPATCHED'
completeIfDone(g)
save()
return {'done', g.status, 1}
