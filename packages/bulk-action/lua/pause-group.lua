-- purpose:   hold a group back, or let it go on.
-- guarantee: after the answer to a pause no job of the group starts; a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      settings key paused
-- returns:   {'done', status, changed} | {'ended', status} | {'not-found'}
-- cost:      O(log groups).

-- include: when-full
-- include: moves
local g = group(ARGV[2])
local paused = ARGV[3] == '1'
if not g then return {'not-found'} end
if hasEnded(g.status) then return {'ended', g.status} end
if (g.paused ~= nil) == paused then return {'done', g.status, 0} end
if paused then
  g.paused = atMs
else
  endQuietPause(g)
  g.paused = nil
end
watchGroup(g, timeoutOf(g))
refresh(g)
save()
return {'done', g.status, 1}
