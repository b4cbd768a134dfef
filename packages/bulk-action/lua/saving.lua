-- purpose:   writes what a script has changed, and wakes whom it concerns.
-- guarantee: called once, at the end, and not by a script that refuses. Deletes before it writes.
-- defines:   save().
-- cost:      O(log n) for each record and entry that was touched; each kind is written by one call.

-- include: waking
-- include: lines
-- include: jobs
local save
do
  local function saveGroups()
    local values, n = {}, 0
    for key, g in pairs(groups) do
      if g then
        local t = tenants[g.tenantId]
        values[n + 1], values[n + 2] = key, encodeGroup(g, t and t.own == key and isKeptWithGroup(t) and t)
        n = n + 2
      end
    end
    if n > 0 then inPieces('HSET', groupsKey, values) end
  end

  -- A line that is no longer limited goes when nobody stands in it.
  local function saveLines()
    if not S.lines then return end
    local kept = {}
    for _, name in ipairs(S.lines) do
      local R = resource(name)
      if R.limited or firstOf(lineOf(R)) then kept[#kept + 1] = name end
    end
    S.lines = #kept > 0 and kept or nil
  end

  function save()
    saveFlights()
    saveLines()
    saveOrders()
    Lines.save()
    saveGroups()
    saveTenants()
    saveState()
    wake()
    for n = 1, #events do redis.call('PUBLISH', base .. 'events', events[n]) end
  end
end
