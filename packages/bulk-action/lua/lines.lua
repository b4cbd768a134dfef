-- purpose:   the orders in which tenants and groups stand, and by which weight they move in them.
-- guarantee: reads only; `saveOrders` writes what has changed.
-- defines:   tenantNamed(name), lineOf(R, startOf), groupOrder(seat, startOf),
--            weightOf(weight, level, done, registered), groupWeight(g).
-- cost:      O(1).

-- include: free-lines
-- include: resources
local tenantNamed, lineOf, groupOrder, weightOf, groupWeight
do
  function tenantNamed(name)
    if sub(name, 1, 1) ~= '/' then return tenant(name) end
    local g = group(name)
    return g and tenant(g.tenantId)
  end

  -- Damaged ones come first: then somebody notices.
  local function startOfTenant(name)
    local t = tenantNamed(name)
    return t and t.start or 0
  end

  local function startOfGroup(key)
    local g = group(key)
    return g and g.start or 0
  end

  -- The order of the free line, or of the line of a resource.
  function lineOf(R, startOf)
    if not R then return freeLine(startOf or startOfTenant) end
    return orderOf('rt:' .. R.name, turnsWanted, function(name)
      local t = tenantNamed(name)
      return t and seatIn(t, R).start or 0
    end)
  end

  function groupOrder(seat, startOf)
    if not seat.R then return groupsOf(seat.id, startOf or startOfGroup) end
    return orderOf('rg:' .. seat.t.id .. '/' .. seat.R.name, W_GROUPS, startOfGroup)
  end

  -- Levels are weights; `alpha` lets those finish sooner that are nearly done.
  function weightOf(weight, level, done, registered)
    local boost = 0
    if registered > 0 then boost = (C.alpha * done) / registered end
    return weight * C[level] * (1 + boost)
  end

  function groupWeight(g)
    return weightOf(g.weight, g.level or 'normal', g.success + g.failed + g.cancelled, g.registered)
  end
end
