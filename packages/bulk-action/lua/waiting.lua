-- purpose:   jobs that wait outside the fair queue.
-- guarantee: reads only, but for due times further ahead than any back-off, which a clock that was set back has left.
-- defines:   nextDue(), waitingJob(g, id), reasonOf(g, id, scheduled), splitName(name), clampFarOff().
-- cost:      O(log n).

-- include: gate
local FAR_PER_CALL, nextDue, splitName, waitingJob, reasonOf, clampFarOff
do
  FAR_PER_CALL = 100

  -- The first one due of both sets: name, due time, whether it is scheduled.
  function nextDue()
    local a = redis.call('ZRANGE', base .. 'nr', 0, 0, 'WITHSCORES')
    local b = redis.call('ZRANGE', base .. 'sched', 0, 0, 'WITHSCORES')
    local aDue, bDue = tonumber(a[2]), tonumber(b[2])
    if not aDue and not bDue then return nil end
    if not bDue or (aDue and (aDue < bDue or (aDue == bDue and a[1] < b[1]))) then return a[1], aDue, false end
    return b[1], bDue, true
  end

  function splitName(name)
    local key, id = string.match(name, '^([^/]*/[^/]*)/(.*)$')
    return key, id
  end

  -- A waiting job from its records; nil when its record is gone.
  function waitingJob(g, id)
    local r = recordOf(g.key, id)
    if not r or r.k then return nil end
    if r.corrupt then return {key = g.key, id = id, cost = 1, round = r.rd}, r end
    return {key = g.key, id = id, cost = r.c, charge = r.ch, deadline = r.dl, round = r.rd, notBefore = r.nb}, r
  end

  function reasonOf(g, id, scheduled)
    if scheduled then return 'SCHEDULED' end
    local s = stateOf(g.key, id)
    return s and s.rs or 'RATE_LIMITED'
  end

  -- The farthest first: those that a clock has left there when it was set back.
  function clampFarOff()
    local far = redis.call('ZREVRANGEBYSCORE', base .. 'nr', '+inf', atMs + C.maxBackoffMs + 1, 'WITHSCORES', 'LIMIT', 0,
      FAR_PER_CALL)
    for n = 1, #far, 2 do
      local key, id = splitName(far[n])
      local s = stateOf(key, id)
      local delayMs = s and s.dm or C.maxBackoffMs
      if tonumber(far[n + 1]) - atMs > delayMs then redis.call('ZADD', base .. 'nr', atMs + delayMs, far[n]) end
    end
  end
end
