-- purpose:   one tenant, or all who want or were served something lately.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings tenantId
-- returns:   {JSON of a TenantView…}
-- cost:      O(tenants).

-- include: json
if ARGV[2] ~= '' then
  local t = tenant(ARGV[2])
  return t and {tenantJson(t)} or {}
end
local reply = {}
for _, id in ipairs(redis.call('SMEMBERS', base .. 'tenants')) do
  local t = tenant(id)
  if t and t.pending + t.inFlight + ratePerSecond(t) > 0 then reply[#reply + 1] = tenantJson(t) end
end
return reply
