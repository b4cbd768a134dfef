-- purpose:   the orders in which tenants and their groups stand where no limited service is called.
-- guarantee: reads only; `saveOrders` writes what has changed.
-- defines:   turnsWanted, W_GROUPS (so many groups are looked at together), memberOf(seq, name), freeLine(startOf), groupsOf(tenantId, startOf).
-- cost:      O(1).

-- include: orders
local W_GROUPS = 4
local turnsWanted, memberOf, freeLine, groupsOf
do
  -- How many turns a script may take: so many tenants are looked at together.
  turnsWanted = 4

  function memberOf(seq, name)
    return format('%016d:', seq) .. name
  end

  -- Who has the records in another way says where they start.
  function freeLine(startOf)
    return orderOf('tf', turnsWanted, startOf)
  end

  function groupsOf(tenantId, startOf)
    return orderOf('gf:' .. tenantId, W_GROUPS, startOf)
  end
end
