-- purpose:   who is next: start-time fair queueing over tenants and over the groups of a tenant, as src/memory/fair-queue.ts.
-- guarantee: a group is in its tenant's order exactly while nothing but its rate may hold it back, a tenant is in the
--            engine's order exactly while one of its groups is; `refresh` keeps both true after every change.
-- defines:   refresh(g), refreshTenant(t), parkGroup, parkTenant, unpark, unparkDue, forgetParking, takeTurn, endTurn,
--            endIdleEpochs(t), reweigh(g, t, change), groupWeight(g), tenantWeight(t), topTenant(), topGroup(t), startTag.
-- cost:      O(log n) for each change.

-- include: rates
local function member(record, name)
  return string.format('%016d:', record.seq) .. name
end

local function startTag(clock, tag)
  local finish = 0
  if tag.epoch == clock.vepoch then finish = tag.finish end
  return math.max(clock.virtual, finish)
end

local function topTenant()
  local top = redis.call('ZRANGE', base .. 'tf', 0, 0)[1]
  return top and tenant(string.sub(top, 18))
end

local function topGroup(t)
  local top = redis.call('ZRANGE', base .. 'gf:' .. t.id, 0, 0)[1]
  return top and group(string.sub(top, 18))
end

local function hasFreeSlot(r)
  return not r.concurrency or r.held < r.concurrency
end

local function refreshTenant(t)
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
      redis.call('ZREM', base .. 'tf', member(t, t.id))
      t.fair = nil
    end
  elseif not t.fair then
    t.start = startTag(S, t)
    t.fair = 1
    redis.call('ZADD', base .. 'tf', t.start, member(t, t.id))
    ring('fetch')
  end
end

local function refresh(g)
  local t = tenant(g.tenantId)
  local eligible = g.lane > 0 and not g.paused and not hasEnded(g.status) and not g.parked and hasFreeSlot(g)
  if not eligible then
    if g.fair then
      redis.call('ZREM', base .. 'gf:' .. t.id, member(g, g.key))
      g.fair = nil
      t.fg = t.fg - 1
    end
  elseif not g.fair then
    g.start = startTag(t, g)
    g.fair = 1
    t.fg = t.fg + 1
    redis.call('ZADD', base .. 'gf:' .. t.id, g.start, member(g, g.key))
    ring('fetch')
  end
  refreshTenant(t)
end

local function parkGroup(g, untilUs)
  g.parked = untilUs
  redis.call('ZADD', base .. 'parked', untilUs, 'g:' .. g.key)
  refresh(g)
  ring('fetch')
end

local function parkTenant(g, untilUs)
  local t = tenant(g.tenantId)
  t.parkedFor = g.key
  t.parked = untilUs
  redis.call('ZADD', base .. 'parked', untilUs, 't:' .. t.id)
  refreshTenant(t)
  ring('fetch')
end

local function unparkGroup(g)
  redis.call('ZREM', base .. 'parked', 'g:' .. g.key)
  g.parked = nil
  refresh(g)
end

local function unparkTenant(t)
  redis.call('ZREM', base .. 'parked', 't:' .. t.id)
  t.parked = nil
  refreshTenant(t)
end

local function unparkDue(max)
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

local function forgetParking(g)
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

local function tenantWeight(t)
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
local function takeTurn(g, job)
  local t = tenant(g.tenantId)
  local charged = job.cost
  if C.charge == 'time' then charged = g.est or S.est
  elseif C.charge ~= 'job' then charged = job.charge or job.cost end
  serve(t, g, charged, groupWeight(g))
  redis.call('ZADD', base .. 'gf:' .. t.id, g.start, member(g, g.key))
  serve(S, t, charged, tenantWeight(t))
  redis.call('ZADD', base .. 'tf', t.start, member(t, t.id))
  job.charged, job.ge, job.te = charged, t.vepoch, S.vepoch
  g.held = g.held + 1
  t.held = t.held + 1
  S.held = S.held + 1
end

local function endIdleEpochs(t)
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
local function endTurn(g, job, real)
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
      redis.call('ZADD', base .. 'gf:' .. t.id, g.start, member(g, g.key))
    end
    d = 0
    if job.te == S.vepoch then d = (math.max(0, real) - job.charged) / tenantWeight(t) end
    t.finish = t.finish + d
    if t.fair then
      t.start = t.start + d
      redis.call('ZADD', base .. 'tf', t.start, member(t, t.id))
    end
    if real == 0 then forgetParking(g) end
  end
  refresh(g)
  endIdleEpochs(t)
end

local function rescaleTags(tag, clock, factor)
  if factor == 1 or tag.epoch ~= clock.vepoch then return end
  if tag.finish > clock.virtual then tag.finish = clock.virtual + (tag.finish - clock.virtual) * (factor / 1) end
  if tag.fair and tag.start > clock.virtual then
    tag.start = clock.virtual + (tag.start - clock.virtual) * (factor / 1)
  end
end

local function reweigh(g, t, change)
  local groupBefore = g and groupWeight(g)
  local tenantBefore = tenantWeight(t)
  change()
  if g then
    rescaleTags(g, t, groupBefore / groupWeight(g))
    if g.fair then redis.call('ZADD', base .. 'gf:' .. t.id, g.start, member(g, g.key)) end
  end
  rescaleTags(t, S, tenantBefore / tenantWeight(t))
  if t.fair then redis.call('ZADD', base .. 'tf', t.start, member(t, t.id)) end
end
