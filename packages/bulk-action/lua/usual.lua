-- purpose:   groups whose jobs nothing unusual concerns, as lists of their fields in the order in which scopes.lua writes them: read and
--            written in two thirds of the time of a record.
-- guarantee: what stands behind those fields stays as it was read. Nobody changes the same group as a record before `saveUsual`; who has
--            looked at it as one reads it anew afterwards.
-- defines:   the places of fields (in upper case; those of a tenant that is kept with its group begin with T_), G_OWNER (that tenant, as a
--            list, when it is), G_LEVEL, G_TRACE, usualGroup(key) → list, nil for none, false for one that is not usual, touchUsual(key, g),
--            saveUsual().
-- cost:      about 7 µs for both ways.

-- include: records
local G_STATUS, G_FAIR, G_SEALED, G_TRIED, G_ALONE, G_SEQ, G_ROUND, G_REGISTERED, G_LANE, G_PENDING = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local G_IN_FLIGHT, G_RUNNING, G_HELD, G_SUCCESS, G_FAILED, G_EPOCH, G_DC, G_WC, G_WP, G_ACTIVE = 11, 12, 13, 14, 15, 16, 17, 18, 19, 20
local G_WEIGHT, G_FINISH, G_START, G_DS, G_DMIN, G_DMAX, G_EST, G_PROGRESS_AT, G_STARTED_AT = 21, 22, 23, 24, 25, 26, 27, 28, 29
local G_EVENT_AT, G_WA, G_WF, G_TENANT, G_OWNER, G_REST, G_LEVEL, G_TRACE = 30, 31, 32, 33, 34, 35, 36, 37
local T_FAIR, T_SEQ, T_EPOCH, T_VEPOCH, T_FINISH, T_START, T_VIRTUAL, T_SERVED, T_WC, T_WP, T_WA, T_WF, T_END = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13
local usualGroup, touchUsual, saveUsual
do
  local read, touched, NONE = {}, {}, {}

  -- What stands behind the fields: a group may have it and still be usual, or it may not.
  local function readRest(g, rest)
    g[G_REST], g[G_LEVEL], g[G_TRACE] = rest, 'normal', false
    if rest == '' then return g end
    local seldom = cmsgpack.unpack(rest)
    if seldom.rps or seldom.concurrency or seldom.deadline or seldom.parked or seldom.odd or seldom.slow or seldom.trial
      or seldom.throttled or seldom.at or seldom.ready or seldom.readyCost or seldom.cancelled then return nil end
    g[G_LEVEL], g[G_TRACE] = seldom.level or 'normal', seldom.trace or false
    return g
  end

  local function decode(value)
    local g = {unpacked(GROUP, value)}
    if not STATUSES[g[G_STATUS]] then return nil end
    local from = g[G_OWNER]
    g[G_OWNER] = false
    if g[G_ALONE] == 1 then
      local t = {unpacked(ALONE, value, from)}
      from = t[T_END]
      g[G_OWNER] = t
    end
    return readRest(g, sub(value, from))
  end

  function usualGroup(key)
    local g = read[key]
    if g == nil then
      local value = redis.call('HGET', groupsKey, key)
      if value then
        local ok, found = pcall(decode, value)
        g = ok and found or false
      else
        g = NONE
      end
      read[key] = g
    end
    if g == NONE then return nil end
    return g
  end

  -- It has changed.
  function touchUsual(key, g)
    touched[key] = g
  end

  function saveUsual()
    local values, n = {}, 0
    for key, g in pairs(touched) do
      local value = pack(GROUP, unpack(g, 1, G_TENANT))
      if g[G_OWNER] then value = value .. pack(ALONE, unpack(g[G_OWNER], 1, T_WF)) end
      values[n + 1], values[n + 2] = key, value .. g[G_REST]
      n = n + 2
      groups[key] = nil
      if g[G_OWNER] then tenants[g[G_TENANT]] = nil end
    end
    read, touched = {}, {}
    if n > 0 then inPieces('HSET', groupsKey, values) end
  end
end
