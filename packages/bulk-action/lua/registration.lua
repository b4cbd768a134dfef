-- purpose:   makes a group from its definition, as src/memory/groups.ts.
-- guarantee: writes the group and counts it with its tenant.
-- defines:   register(definition).
-- cost:      O(log groups).

-- include: definition
-- include: moves
local register
do
  function register(d)
    local t = tenantOf(d.tenantId)
    S.seq = S.seq + 1
    local g = setmetatable({key = d.key, seldom = true, fair = false, sealed = false, tried = false, tenantId = d.tenantId, seq = S.seq, weight = d.weight,
      level = d.level ~= 'normal' and d.level or nil, rps = d.rps, burst = d.burst, concurrency = d.concurrency,
      deadline = d.deadline, status = 'CREATED', round = 1, progressAt = atMs}, SCOPE)
    if d.trace ~= '' then g.trace = d.trace end
    groups[d.key] = g
    local standsForItself = d.tenant == '' and d.key == '/' .. d.tenantId
    setOwn(t, t.records == 0 and standsForItself and d.key)
    t.records = t.records + 1
    t.open = t.open + 1
    keepDefinition(d, g.seq)
    watchGroup(g, d.timeoutMs)
    return g
  end
end
