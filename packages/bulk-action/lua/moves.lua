-- purpose:   the arrows between the places of a job, as src/memory/moves.ts; every counter changes here, with its entry.
-- guarantee: a job is in exactly one place. A live job is {key, id, cost, charge?, deadline?, waiting, round}; in ready and in
--            flight also {charged, ge, te}, what its turn was charged; tries = {retry, orphan, attempts, tries}.
-- defines:   isLive, deadlineOf, isOverdue, joinLane, laneToReady, readyEntry(job), countReady, readyToLane, flightToLane,
--            nonReadyToLane, leaveReady, leaveNonReady, leaveFlight, toNonReady, measured, keepCorrupt.
-- cost:      O(log n) each.

-- include: fair
-- include: ending
-- include: saving
local isLive, deadlineOf, isOverdue, keepCorrupt, countPending, leaveLane, joinLane, leaveReady, leaveNonReady, leaveFlight, readyEntry, countReady, laneToReady,
  readReady, readyToLane, measured, flightToLane, nonReadyToLane, toNonReady
do
  function isLive(g, round)
    return round == g.round and not hasEnded(g.status)
  end

  function deadlineOf(g, job)
    if not job.deadline then return g.deadline end
    if not g.deadline then return job.deadline end
    return math.min(job.deadline, g.deadline)
  end

  function isOverdue(g, job)
    local deadline = deadlineOf(g, job)
    return deadline and atMs >= deadline
  end

  function keepCorrupt(name, value)
    redis.call('LPUSH', base .. 'corrupt', name .. ' ' .. value)
    redis.call('LTRIM', base .. 'corrupt', 0, 99)
  end

  function countPending(g, by, t)
    g.pending = g.pending + by
    t = t or tenant(g.tenantId)
    t.pending = t.pending + by
    S.pending = S.pending + by
  end

  local function enterLane(g, job, command)
    redis.call(command, laneKey(g), laneEntry(g, job))
    g.lane = g.lane + 1
    if g.lane == 1 then S.laneGroups = S.laneGroups + 1 end
    local t = tenant(g.tenantId)
    t.laneJobs = t.laneJobs + 1
    S.laneJobs = S.laneJobs + 1
    countPending(g, 1)
  end

  -- Takes the first job of a lane out of it; its id, '' when somebody has damaged the lane.
  function leaveLane(g)
    local entry = redis.call('LPOP', laneKey(g)) or ''
    g.lane = g.lane - 1
    if g.lane == 0 then S.laneGroups = S.laneGroups - 1 end
    local t = tenant(g.tenantId)
    t.laneJobs = t.laneJobs - 1
    S.laneJobs = S.laneJobs - 1
    countPending(g, -1, t)
    local tab = find(entry, '\t', 1, true)
    if not tab then return entry end
    g.odd = math.max(0, g.odd - 1)
    return sub(entry, 1, tab - 1)
  end

  function joinLane(g, job)
    enterLane(g, job, 'RPUSH')
    if g.lane == 1 then refresh(g) end
  end

  local function countCost(job, by)
    local R = resource(job.resource)
    if R then R.readyCost = R.readyCost + by end
  end

  -- Its entry has been taken from the list, or is being removed.
  function leaveReady(g, job)
    local t = tenant(g.tenantId)
    g.readyCost = g.readyCost - job.cost
    t.readyCost = t.readyCost - job.cost
    S.readyCost = S.readyCost - job.cost
    if job.resource then countCost(job, -job.cost) end
    S.readyJobs = S.readyJobs - 1
    if isLive(g, job.round) then
      g.ready = g.ready - 1
      countPending(g, -1)
    end
  end

  function leaveNonReady(g, name, reason, live)
    redis.call('ZREM', base .. (reason == 'SCHEDULED' and 'sched' or 'nr'), name)
    S[reason] = S[reason] - 1
    if live then
      g.nonReady = g.nonReady - 1
      countPending(g, -1)
    end
  end

  function leaveFlight(g, job)
    local name = g.key .. '/' .. job.id
    dropFlight(name)
    if job.suspect then
      local instanceKey = base .. 'i:' .. job.instance
      local suspects = tonumber(redis.call('HGET', instanceKey, 'suspects')) or 0
      if suspects > 0 then redis.call('HSET', instanceKey, 'suspects', suspects - 1) end
    end
    local t = tenant(g.tenantId)
    g.running = g.running - 1
    t.running = t.running - 1
    if isLive(g, job.round) then
      g.inFlight = g.inFlight - 1
      t.inFlight = t.inFlight - 1
    end
  end

  local function returnToLane(g, job)
    enterLane(g, job, 'LPUSH')
    forgetParking(g)
  end

  function readyEntry(job)
    return mpack({job.key, job.id, job.cost, job.charged, job.ge, job.te, job.round, job.charge or false, job.deadline or false,
      job.waiting or false, job.resource or false, job.fe or false})
  end

  function countReady(g, job)
    local t = tenant(g.tenantId)
    g.readyCost = g.readyCost + job.cost
    t.readyCost = t.readyCost + job.cost
    S.readyCost = S.readyCost + job.cost
    if job.resource then countCost(job, job.cost) end
    S.readyJobs = S.readyJobs + 1
    g.ready = g.ready + 1
    countPending(g, 1)
  end

  function laneToReady(g, job)
    takeTurn(g, tenant(g.tenantId), job)
    job.id = leaveLane(g)
    countReady(g, job)
    redis.call('RPUSH', base .. 'ready', readyEntry(job))
    refresh(g)
    ring('work')
  end

  function readReady(entry)
    local v = munpack(entry)
    if not v or not v[2] then return nil end
    return {key = v[1], id = v[2], cost = v[3], charged = v[4], ge = v[5], te = v[6], round = v[7],
      charge = v[8] or nil, deadline = v[9] or nil, waiting = v[10] or nil, resource = v[11] or nil,
      fe = v[12] or nil}
  end

  function readyToLane(g, job)
    leaveReady(g, job)
    returnToLane(g, job)
    endTurn(g, job, 0)
  end

  function measured(durationMs)
    if C.charge == 'time' then return math.max(1, durationMs) end
    return nil
  end

  function flightToLane(g, job)
    leaveFlight(g, job)
    job.waiting = atMs
    returnToLane(g, job)
    endTurn(g, job, measured(atMs - job.since))
  end

  -- A due job; `dueMs` is when it could have gone on.
  function nonReadyToLane(g, job, reason, dueMs)
    leaveNonReady(g, g.key .. '/' .. job.id, reason, true)
    job.waiting = math.min(atMs, dueMs)
    returnToLane(g, job)
    refresh(g)
  end

  -- Waits outside the fair queue, but not past its deadline. It has left its place already.
  function toNonReady(g, job, reason, delayMs, held, real)
    local deadline = deadlineOf(g, job)
    if deadline then delayMs = math.min(delayMs, math.max(0, deadline - atMs)) end
    local name = g.key .. '/' .. job.id
    local zset = base .. (reason == 'SCHEDULED' and 'sched' or 'nr')
    redis.call('ZADD', zset, atMs + delayMs, name)
    S[reason] = S[reason] + 1
    g.nonReady = g.nonReady + 1
    countPending(g, 1)
    if redis.call('ZRANGE', zset, 0, 0)[1] == name then ring('dispatch') end
    if held then endTurn(g, job, real) else refresh(g) end
    endIdleEpochs(tenant(g.tenantId))
  end
end
