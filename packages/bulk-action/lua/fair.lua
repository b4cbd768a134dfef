-- purpose:   who is next: start-time fair queueing over tenants and over the groups of a tenant, as src/memory/fair-queue.ts.
-- guarantee: a group is in its tenant's order exactly while nothing but its rate may hold it back, a tenant is in the
--            engine's order exactly while one of its groups is; `refresh` keeps both true after every change.
-- defines:   refresh(g), refreshTenant(t), parkGroup, parkTenant, unpark, unparkDue, forgetParking, takeTurn, endTurn,
--            endIdleEpochs(t), reweigh(g, t, change), groupWeight(g), tenantWeight(t), topTenant(), topGroup(t), tenantNamed(name), setOwn(t, key), startTag,
--            putGroup(g, t), dropGroup(g, t), putTenant(t), dropTenant(t), turnsWanted.
-- cost:      O(log n) for each change.

-- include: rates
-- include: orders
local turnsWanted, member, tenantNamed, tenantOrder, putTenant, dropTenant, putGroup, dropGroup, startTag, topTenant,
  topGroup, setOwn, refreshTenant, refresh, parkGroup, parkTenant, unparkGroup, unparkTenant, unparkDue, forgetParking,
  tenantWeight, takeTurn, endIdleEpochs, endTurn, reweigh
do
  -- How many turns a script may take: so many tenants are looked at together.
  turnsWanted = 4
  local GROUPS_AT_ONCE = 4

  function member(record, name)
    return format('%016d:', record.seq) .. name
  end

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

  function tenantOrder()
    return orderOf('tf', turnsWanted, startOfTenant)
  end

  local function groupOrder(t)
    return orderOf('gf:' .. t.id, GROUPS_AT_ONCE, startOfGroup)
  end

  -- A tenant that stands for one group is named by it: one look finds both.
  function putTenant(t)
    put(tenantOrder(), member(t, t.own or t.id), t.start)
  end

  function dropTenant(t)
    remove(tenantOrder(), member(t, t.own or t.id))
  end

  -- And it needs no order of its groups.
  function putGroup(g, t)
    if not t.own then put(groupOrder(t), member(g, g.key), g.start) end
  end

  function dropGroup(g, t)
    if not t.own then remove(groupOrder(t), member(g, g.key)) end
  end

  function startTag(clock, tag)
    local finish = 0
    if tag.epoch == clock.vepoch then finish = tag.finish end
    return math.max(clock.virtual, finish)
  end

  function topTenant()
    local top = firstOf(tenantOrder())
    return top and tenantNamed(sub(top, 18))
  end

  function topGroup(t)
    if t.own then return t.fg > 0 and group(t.own) or nil end
    local top = firstOf(groupOrder(t))
    return top and group(sub(top, 18))
  end

  -- The one group that a tenant stands for, or false; the orders go by it.
  function setOwn(t, key)
    if t.own == key then return end
    local before = t.own and group(t.own)
    if t.fair then dropTenant(t) end
    t.own = key
    if key and not t.configured then redis.call('HDEL', tenantsKey, t.id) end
    if t.fair then putTenant(t) end
    if before and before.fair then putGroup(before, t) end
  end

  local function hasFreeSlot(r)
    return not r.concurrency or r.held < r.concurrency
  end

  function refreshTenant(t)
    if t.parked then
      local first = topGroup(t)
      if (first and first.key) ~= t.parkedFor then
        redis.call('ZREM', base .. 'parked', 't:' .. t.id)
        t.parked = nil
      end
    end
    local eligible = t.fg > 0 and not t.parked and hasFreeSlot(t)
    if not eligible then
      if t.fair then
        dropTenant(t)
        t.fair = false
      end
    elseif not t.fair then
      t.start = startTag(S, t)
      t.fair = true
      putTenant(t)
      announceTurn()
    end
  end

  function refresh(g, t)
    t = t or tenant(g.tenantId)
    local eligible = g.lane > 0 and not g.paused and not hasEnded(g.status) and not g.parked and hasFreeSlot(g)
    if not eligible then
      if g.fair then
        dropGroup(g, t)
        g.fair = false
        t.fg = t.fg - 1
      end
    elseif not g.fair then
      g.start = startTag(t, g)
      g.fair = true
      t.fg = t.fg + 1
      putGroup(g, t)
      announceTurn()
    end
    refreshTenant(t)
  end

  function parkGroup(g, untilUs)
    g.parked = untilUs
    redis.call('ZADD', base .. 'parked', untilUs, 'g:' .. g.key)
    refresh(g)
    ring('fetch')
  end

  function parkTenant(g, untilUs)
    local t = tenant(g.tenantId)
    t.parkedFor = g.key
    t.parked = untilUs
    redis.call('ZADD', base .. 'parked', untilUs, 't:' .. t.id)
    refreshTenant(t)
    ring('fetch')
  end

  function unparkGroup(g)
    redis.call('ZREM', base .. 'parked', 'g:' .. g.key)
    g.parked = nil
    refresh(g)
  end

  function unparkTenant(t)
    redis.call('ZREM', base .. 'parked', 't:' .. t.id)
    t.parked = nil
    refreshTenant(t)
  end

  function unparkDue(max)
    local due = redis.call('ZRANGEBYSCORE', base .. 'parked', '-inf', atUs, 'LIMIT', 0, max)
    for n = 1, #due do
      local name = string.sub(due[n], 3)
      if string.sub(due[n], 1, 1) == 'g' then
        local g = group(name)
        if g then unparkGroup(g) else redis.call('ZREM', base .. 'parked', due[n]) end
      else
        local t = tenant(name)
        if t then unparkTenant(t) else redis.call('ZREM', base .. 'parked', due[n]) end
      end
    end
  end

  function forgetParking(g)
    if g.parked then unparkGroup(g) end
    local t = tenant(g.tenantId)
    if t.parked then unparkTenant(t) end
  end

  local function groupWeight(g)
    local done = g.success + g.failed + g.cancelled
    local boost = 0
    if g.registered > 0 then boost = (C.alpha * done) / g.registered end
    return g.weight * C[g.level or 'normal'] * (1 + boost)
  end

  function tenantWeight(t)
    if not t.own then return t.weight end
    local own = group(t.own)
    return own and groupWeight(own) * t.weight or t.weight
  end

  local function serve(clock, tag, charge, weight)
    clock.virtual = math.max(clock.virtual, tag.start)
    tag.epoch = clock.vepoch
    tag.finish = tag.start + charge / weight
    tag.start = tag.finish
  end

  -- Charges the turn of a job to its group and tenant, and gives it its cap slot. The group is in the fair orders.
  function takeTurn(g, t, job)
    local charged = job.cost
    if C.charge == 'time' then charged = g.est or S.est
    elseif C.charge ~= 'job' then charged = job.charge or job.cost end
    local weight = groupWeight(g)
    serve(t, g, charged, weight)
    putGroup(g, t)
    serve(S, t, charged, t.own and weight * t.weight or t.weight)
    putTenant(t)
    job.charged, job.ge, job.te = charged, t.vepoch, S.vepoch
    g.held = g.held + 1
    t.held = t.held + 1
    S.held = S.held + 1
  end

  function endIdleEpochs(t)
    if t.laneJobs == 0 and t.held == 0 then
      t.virtual = 0
      t.vepoch = t.vepoch + 1
    end
    if S.laneJobs == 0 and S.held == 0 then
      S.virtual = 0
      S.vepoch = S.vepoch + 1
    end
  end

  -- Gives the cap slot of a job back; `real` is what its turn should have been charged, nil leaves it.
  function endTurn(g, job, real)
    local t = tenant(g.tenantId)
    g.held = g.held - 1
    t.held = t.held - 1
    S.held = S.held - 1
    if real then
      local d = 0
      if job.ge == t.vepoch then d = (math.max(0, real) - job.charged) / groupWeight(g) end
      g.finish = g.finish + d
      if g.fair then
        g.start = g.start + d
        putGroup(g, t)
      end
      d = 0
      if job.te == S.vepoch then d = (math.max(0, real) - job.charged) / tenantWeight(t) end
      t.finish = t.finish + d
      if t.fair then
        t.start = t.start + d
        putTenant(t)
      end
      if real == 0 then forgetParking(g) end
    end
    refresh(g, t)
    endIdleEpochs(t)
  end

  local function rescaleTags(tag, clock, factor)
    if factor == 1 or tag.epoch ~= clock.vepoch then return end
    if tag.finish > clock.virtual then tag.finish = clock.virtual + (tag.finish - clock.virtual) * (factor / 1) end
    if tag.fair and tag.start > clock.virtual then
      tag.start = clock.virtual + (tag.start - clock.virtual) * (factor / 1)
    end
  end

  function reweigh(g, t, change)
    local groupBefore = g and groupWeight(g)
    local tenantBefore = tenantWeight(t)
    change()
    if g then
      rescaleTags(g, t, groupBefore / groupWeight(g))
      if g.fair then putGroup(g, t) end
    end
    rescaleTags(t, S, tenantBefore / tenantWeight(t))
    if t.fair then putTenant(t) end
  end
end
