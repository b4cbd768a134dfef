-- purpose:   change weight or limits of a tenant, which is made when it does not exist.
-- guarantee: acts on work already queued, at once.
-- KEYS:      meta
-- ARGV:      settings tenantId weight rps burst concurrency
-- returns:   1
-- cost:      O(log tenants).

-- include: limits
local t = tenantOf(ARGV[2])
t.configured = 1
reweigh(nil, t, function()
  if ARGV[3] ~= '=' then t.weight = tonumber(ARGV[3]) end
end)
updateLimits(t, ARGV[4], ARGV[5], ARGV[6])
refreshTenant(t)
save()
return 1
