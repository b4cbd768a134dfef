-- purpose:   change weight, level, limits, timeout or deadline of a group.
-- guarantee: acts on work already queued, at once; an ended group is left alone.
-- KEYS:      meta
-- ARGV:      settings key weight level rps burst concurrency timeoutMs deadline
-- returns:   {'done', status, changed} | {'ended', status} | {'not-found'}
-- cost:      O(log groups).

-- include: when-full
-- include: limits
local g = group(ARGV[2])
if not g then return {'not-found'} end
if hasEnded(g.status) then return {'ended', g.status} end
reweigh(g, tenant(g.tenantId), function()
  if ARGV[3] ~= '=' then g.weight = tonumber(ARGV[3]) end
  if ARGV[4] ~= '=' then g.level = ARGV[4] ~= 'normal' and ARGV[4] or nil end
end)
if ARGV[8] ~= '=' then redis.call('HSET', base .. 'g:' .. g.key, 'timeoutMs', ARGV[8]) end
g.deadline = changed(g.deadline, ARGV[9])
watchGroup(g, timeoutOf(g))
updateLimits(g, ARGV[5], ARGV[6], ARGV[7])
refresh(g)
save()
return {'done', g.status, 1}
