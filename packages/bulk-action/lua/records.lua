-- purpose:   the records of engine, tenants and groups: read once, changed in Lua, written once by `save`.
-- guarantee: nothing is written before `save`; a script that refuses has changed nothing.
-- defines:   S (engine), group(key), storedTenant(id), tenant(id), tenantOf(id), isKeptWithGroup(t), ring(kind), announceTurn(),
--            tell(type, g, jobId), groupIdOf(key), saveTenants(), saveState().
-- cost:      O(1) for each record that is touched.

-- include: settings
-- include: scopes
local S, groups, tenants, rings, events, groupsKey, tenantsKey, group, storedTenant, tenant, isKeptWithGroup, tenantOf, ring,
  announceTurn, groupIdOf, tell, saveTenants, saveState
do
  local stateValue = redis.call('GET', base .. 'state')
  S = setmetatable((stateValue and munpack(stateValue)) or {vepoch = 1, est = 100}, {__index = DEFAULTS})
  groups, tenants = {}, {}
  rings, events = {}, {}
  groupsKey, tenantsKey = base .. 'gr', base .. 'tn'

  local function keepGroup(key, value)
    local ok, g, owner = pcall(decodeGroup, key, value)
    groups[key] = value and ok and g or false
    if groups[key] and owner then tenants[owner.id] = owner end
  end

  function group(key)
    if groups[key] == nil then keepGroup(key, redis.call('HGET', groupsKey, key)) end
    return groups[key] or nil
  end

  -- One that has a record of its own.
  function storedTenant(id)
    local t = tenants[id]
    if t == nil then
      local value = redis.call('HGET', tenantsKey, id)
      if not value then return nil end
      local ok, found = pcall(decodeTenant, id, value)
      t = ok and found
      tenants[id] = t
    end
    return t
  end

  function tenant(id)
    local t = storedTenant(id)
    if t == nil then
      -- Unless it is kept with the group that it stands for.
      group('/' .. id)
      t = tenants[id] or false
      tenants[id] = t
    end
    return t or nil
  end

  -- Whether the record of its group holds it.
  function isKeptWithGroup(t)
    return t.own and not t.configured
  end

  function tenantOf(id)
    local t = tenant(id)
    if not t then
      S.seq = S.seq + 1
      t = setmetatable({id = id, seldom = true, seq = S.seq, weight = 1, vepoch = 1}, SCOPE)
      tenants[id] = t
      redis.call('SADD', base .. 'tenants', id)
    end
    return t
  end

  function ring(kind)
    rings[kind] = true
  end

  -- Wakes who may take a turn: workers that wait, and the Fetcher when that is not enough of them.
  function announceTurn()
    rings.turn = true
  end

  function groupIdOf(key)
    if sub(key, 1, 1) == '/' then return sub(key, 2) end
    return key
  end

  function tell(kind, g, jobId)
    events[#events + 1] = table.concat({kind, g.key, g.round, g.status, jobId or '-', atMs}, ' ')
  end

  function saveTenants()
    local values, n = {}, 0
    for id, t in pairs(tenants) do
      if t and not isKeptWithGroup(t) then
        values[n + 1], values[n + 2] = id, encodeTenant(t)
        n = n + 2
      end
    end
    if n > 0 then inPieces('HSET', tenantsKey, values) end
  end

  function saveState()
    redis.call('SET', base .. 'state', mpack(S))
  end
end
