-- purpose:   turns of jobs that nothing holds back, taken in one go: what gate.lua, fair.lua, moves.lua and `start` of reserve.lua come
--            to for them, without asking what does not concern them. Most turns of a busy engine are such ones.
-- guarantee: leaves everything as they would; stops in front of the first job that is not usual, and takes nothing while ready holds
--            a job, a service is limited, or somebody's rate slot has come.
-- defines:   takeUsualTurns(instanceId, max, reply, leases) → how many have started, and whether no turn is left.
-- cost:      O(log n) for each; about two thirds of the other way's time.

-- include: usual-tenants
-- include: lines
-- include: lane-keys
-- include: jobs
-- include: rates
-- include: window
-- include: history
-- include: activity
-- include: lease-lines
local takeUsualTurns
do
  local called, noted = {}, {}

  local function startOfGroup(key)
    local g = usualGroup(key) or group(key)
    return g and (g[G_START] or g.start) or 0
  end

  local function usualTenant(id)
    local t = storedTenant(id)
    return t and not t.rps and not t.concurrency and t or nil
  end

  -- The tenant of that name in the free line: key and list of the group whose turn it is, the tenant and where its fields are, and the
  -- order of its groups with the place there when it has more than one. Nothing when one of them is not usual.
  local function seatNamed(name)
    local isGroup = sub(name, 1, 1) == '/'
    local g = isGroup and usualGroup(name)
    if g and g[G_OWNER] then return name, g, g[G_OWNER], LISTED end
    local t = usualTenant(g and g[G_TENANT] or name)
    if not t then return nil end
    if isGroup then return name, g, t, NAMED end
    local order = groupOrder(t, startOfGroup)
    local first = firstOf(order)
    local key = first and sub(first, 18)
    return key, key and usualGroup(key), t, NAMED, order, first
  end

  local function startOfSeat(name)
    local g = sub(name, 1, 1) == '/' and usualGroup(name)
    if g and g[G_OWNER] then return g[G_OWNER][T_START] end
    local t = g and storedTenant(g[G_TENANT]) or tenantNamed(name)
    return t and t.start or 0
  end

  -- As Slowing.noteStart; the clock stands still, so what the first start has moved on stays there.
  local function noteStart(g, processorType)
    local R = called[processorType]
    if R == nil then
      R = resourceCalled(processorType) or false
      called[processorType] = R
    end
    if not R then return end
    local c = R.c
    if noted[R] then
      c.tries, c.slot0, R.starts = c.tries + 1, c.slot0 + 1, R.starts + 1
    else
      Congestion.onStart(c)
      R.starts = R.starts + 1
      History.ofResource(R)
      noted[R] = true
    end
    countActive(R.a, g, G_ACTIVE)
  end

  -- As takeTurn of fair.lua, for a cost of 1.
  local function charge(g, t, F)
    local weight = weightOf(g[G_WEIGHT], g[G_LEVEL], g[G_SUCCESS] + g[G_FAILED], g[G_REGISTERED])
    local groupStart, start = g[G_START], t[F.start]
    t[F.virtual] = math.max(t[F.virtual], groupStart)
    g[G_EPOCH], g[G_FINISH] = t[F.vepoch], groupStart + 1 / weight
    g[G_START] = g[G_FINISH]
    if F == NAMED then weight = t.own and weight * t.weight or t.weight end
    S.virtual = math.max(S.virtual, start)
    t[F.epoch], t[F.finish] = S.vepoch, start + 1 / weight
    t[F.start] = t[F.finish]
    t[F.served] = t[F.served] + 1
    countEventsAt(t, F.wa, F.wc, F.wp, F.wf, 1)
  end

  -- From its lane into flight.
  local function count(g, t, F)
    g[G_LANE], g[G_PENDING], g[G_IN_FLIGHT], g[G_RUNNING], g[G_HELD] = g[G_LANE] - 1, g[G_PENDING] - 1, g[G_IN_FLIGHT] + 1, g[G_RUNNING] + 1, g[G_HELD] + 1
    S.laneJobs, S.pending, S.held = S.laneJobs - 1, S.pending - 1, S.held + 1
    if F == LISTED then return end
    t.laneJobs, t.pending, t.inFlight, t.running, t.held = t.laneJobs - 1, t.pending - 1, t.inFlight + 1, t.running + 1, t.held + 1
  end

  -- As refresh of fair.lua: a group leaves its order with the last job of its lane, a tenant with its last group.
  local function move(g, t, F, free, top, order, first)
    if g[G_LANE] > 0 then
      if order then put(order, first, g[G_START]) end
      return put(free, top, t[F.start])
    end
    S.laneGroups = S.laneGroups - 1
    g[G_FAIR] = 0
    if order then remove(order, first) end
    if F == LISTED then
      t[T_FAIR] = 0
    else
      t.fg = t.fg - 1
      if t.fg > 0 then return put(free, top, t.start) end
      t.fair = false
    end
    remove(free, top)
  end

  local function noteFirstStart(key, g)
    g[G_STARTED_AT] = atMs
    if STATUSES[g[G_STATUS]] == 'DISPATCHED' then g[G_STATUS] = STATUS_NUMBERS.RUNNING end
    tell('group.started', {key = key, round = g[G_ROUND], status = STATUSES[g[G_STATUS]]})
  end

  -- The first job of a lane when it is usual: its id and its record.
  local function takeFirst(key, g)
    local lane = laneKeyOf(key, g[G_ROUND])
    local id = redis.call('LPOP', lane)
    if not id then return nil end
    local r = recordOf(key, id)
    if r and not r.k and not r.corrupt and not (g[G_TRIED] == 1 and stateOf(key, id)) then return id, r end
    redis.call('LPUSH', lane, id)
    return nil
  end

  function takeUsualTurns(instanceId, max, reply, leases)
    if C.maxShare < 1 or C.charge == 'time' or redis.call('LLEN', base .. 'ready') > 0 then return 0, false end
    if #redis.call('ZRANGEBYSCORE', base .. 'parked', '-inf', atUs, 'LIMIT', 0, 1) > 0 then return 0, false end
    local started, free, bucket = 0, lineOf(nil, startOfSeat), globalBucket()
    while started < max do
      local top = firstOf(free)
      if not top then return started, #lines == 0 end
      local key, g, t, F, order, first = seatNamed(sub(top, 18))
      if not g or g[G_LANE] == 0 or #lines > 0 then return started, false end
      if bucket then
        bucket.tat = S.tat
        if slotOf(bucket, 1, S.readyCost) > atUs then return started, false end
      end
      local id, r = takeFirst(key, g)
      if not id then return started, false end
      if bucket then S.tat = spend(bucket, 1) end
      charge(g, t, F)
      count(g, t, F)
      move(g, t, F, free, top, order, first)
      S.token = S.token + 1
      putFirstFlight(key .. '/' .. id, S.token, instanceId, t[F.vepoch], S.vepoch, g[G_ROUND], r)
      noteStart(g, r.t)
      g[G_PROGRESS_AT] = atMs
      if g[G_STARTED_AT] == 0 then noteFirstStart(key, g) end
      touchUsual(key, g)
      local trace = r.tp or g[G_TRACE]
      pushLines(reply, key, g[G_TENANT], id, S.token, r, atMs - r.at, trace and '1 0 1 - ' .. trace or '')
      leases[started * 3 + 1], leases[started * 3 + 2], leases[started * 3 + 3] = key, id, S.token
      started = started + 1
    end
    return started, true
  end
end
