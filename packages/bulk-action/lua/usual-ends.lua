-- purpose:   successes of jobs that nothing unusual concerns, counted in one go: what settle.lua, ends.lua, moves.lua and fair.lua come to
--            for them.
-- guarantee: leaves everything as they would; stops in front of the first that is not usual.
-- defines:   settleUsual(answer, letters) → where in ARGV the first stands that is not settled.
-- cost:      O(log n) for each; about two thirds of the other way's time.

-- include: usual
-- include: jobs
-- include: resources
-- include: window
-- include: durations
local settleUsual
do
  local PATTERN, TELL_EVERY_MS = '^success (%S+) (%S+) (%S+) (%S+)$', 1000
  local called = {}

  -- A try that its service does not learn from.
  local function isUnheeded(processorType)
    if called[processorType] == nil then
      local R = resourceCalled(processorType)
      called[processorType] = not R or (not R.v and R.c.rps == 0)
    end
    return called[processorType] and #lines == 0
  end

  local function isOpen(g)
    local isLast = g[G_SEALED] == 1 and g[G_PENDING] + g[G_IN_FLIGHT] <= 1
    return not isLast and not hasEnded(STATUSES[g[G_STATUS]])
  end

  local function endIdleEpochs(g, t)
    if g[G_OWNER] then
      if g[G_LANE] == 0 and g[G_HELD] == 0 then t[T_VIRTUAL], t[T_VEPOCH] = 0, t[T_VEPOCH] + 1 end
    elseif t.laneJobs == 0 and t.held == 0 then
      t.virtual, t.vepoch = 0, t.vepoch + 1
    end
    if S.laneJobs > 0 or S.held > 0 then return end
    S.virtual, S.vepoch = 0, S.vepoch + 1
    Lines.endEpoch()
  end

  local function recordDuration(key, g, ms)
    redis.call('HINCRBY', base .. 'g:' .. key, 'b' .. bucketIndex(ms), 1)
    g[G_DMIN] = g[G_DC] == 0 and ms or math.min(g[G_DMIN], ms)
    g[G_DMAX] = math.max(g[G_DMAX], ms)
    g[G_DC], g[G_DS] = g[G_DC] + 1, g[G_DS] + ms
  end

  local function count(key, g, t, durationMs)
    g[G_IN_FLIGHT], g[G_RUNNING], g[G_HELD], g[G_SUCCESS] = g[G_IN_FLIGHT] - 1, g[G_RUNNING] - 1, g[G_HELD] - 1, g[G_SUCCESS] + 1
    if not g[G_OWNER] then t.inFlight, t.running, t.held = t.inFlight - 1, t.running - 1, t.held - 1 end
    S.held = S.held - 1
    g[G_EST] = meanAfter(g[G_EST] == 0 and S.est or g[G_EST], durationMs)
    S.est = meanAfter(S.est, durationMs)
    g[G_PROGRESS_AT] = atMs
    recordDuration(key, g, durationMs)
    countEventsAt(g, G_WA, G_WC, G_WP, G_WF, 1)
    if atMs - g[G_EVENT_AT] >= TELL_EVERY_MS then
      g[G_EVENT_AT] = atMs
      tell('group.progress', {key = key, round = g[G_ROUND], status = STATUSES[g[G_STATUS]]})
    end
  end

  -- Whether it was settled.
  local function settle(key, id, token, durationMs)
    local name = key .. '/' .. id
    local value = flightValueOf(name)
    local g = value and usualGroup(key)
    local t = g and (g[G_OWNER] or storedTenant(g[G_TENANT]))
    if not t or (not g[G_OWNER] and (t.concurrency or t.parked)) or not isOpen(g) then return false end
    local ok, held, since, _, _, _, round, attempts, retry, orphan, at, _, tried, suspect, _, from = pcall(unpacked, FLIGHT, value)
    if not ok or held ~= token or round ~= g[G_ROUND] or tried == 1 or suspect == 1 then return false end
    local line = find(value, '\n', from, true)
    local processorType = line and sub(value, line + 1)
    if not line or find(processorType, '\n', 1, true) or not isUnheeded(processorType) then return false end
    dropFlight(name)
    count(key, g, t, durationMs)
    endIdleEpochs(g, t)
    redis.call('HSET', base .. 'j:' .. key, id,
      encodeSuccess(at, round, since, token, retry, orphan, attempts, g[G_STATUS], sub(value, from, line - 1), processorType))
    if g[G_TRIED] == 1 then redis.call('HDEL', base .. 's:' .. key, id) end
    touchUsual(key, g)
    return true
  end

  function settleUsual(answer, letters)
    if C.charge == 'time' then return 2 end
    for n = 2, #ARGV do
      local key, id, token, durationMs = string.match(ARGV[n], PATTERN)
      if not key or not settle(key, id, tonumber(token), math.max(0, tonumber(durationMs))) then return n end
      answer[#answer + 1] = 'aC' .. letters[STATUSES[usualGroup(key)[G_STATUS]]]
    end
    return #ARGV + 1
  end
end
