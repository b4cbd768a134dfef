-- purpose:   ready → in flight, under a lease with a fencing token; rate tokens are spent here, by every try. When too few are
--            ready, it takes turns through the gate itself: no Fetcher has to come first.
-- guarantee: repeatable: the same number again gets the same leases, as far as they stand; a lower one gets none. A job that
--            may not start goes to its lane (pause, lowered cap), to non-ready (no token), or ends (deadline, cancel).
-- KEYS:      meta
-- ARGV:      settings instanceId seq max turns
-- returns:   lines: rateDenied, missing, names of missing…, leases as 9 lines each…
-- cost:      O((max + 256) × log n); 24 to 35 µs for a usual job.

-- include: when-full
-- include: saving
-- include: usual-turns
local instanceId, seq, max, turns = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local instanceKey = base .. 'i:' .. instanceId
local known = redis.call('HMGET', instanceKey, 'seq', 'answer', 'slots', 'startedAt', 'suspects')
local lastSeq = tonumber(known[1]) or 0
local suspects = tonumber(known[5]) or 0
redis.call('ZADD', base .. 'instances', atMs, instanceId)
local reply, leases, back, aside, missing, denied, started = {0, 0}, {}, {}, {}, {}, 0, 0

-- What is left for others to do, as src/memory/wake-others.ts.
local function wakeOthers(waiting)
  rings.work, rings.turn, slotsSeen = nil, nil, nil
  local mayTurn = firstOf(lineOf(nil)) ~= nil
  for n = 1, #lines do mayTurn = mayTurn or firstOf(lineOf(resource(lines[n]))) ~= nil end
  local ready, othersWait = S.readyJobs > #aside, slots().waiting > waiting
  if waiting > 0 or othersWait then
    if S.untold then ring('fetch') end
    S.untold = nil
  elseif ARGV[5] ~= '0' and rings.fetch then
    rings.fetch, S.untold = nil, true
  end
  if mayTurn and (waiting > 0 or ARGV[5] == '0') and S.readyJobs < readyBound() then ring('fetch') end
  if (waiting > 0 and ready) or (waiting == 0 and othersWait and (ready or mayTurn)) then ring('work') end
end

-- Writes what has happened and answers. One text: an array of so many values costs the client ten times as much to read.
local function answered()
  if started > 0 then countEvents(S, started) end
  local waiting = max - started
  redis.call('HSET', instanceKey, 'seq', seq, 'answer', mpack(leases), 'waiting', waiting, 'seen', atMs,
    'startedAt', known[4] or atMs, 'suspects', suspects)
  wakeOthers(waiting)
  save()
  reply[1], reply[2] = denied, #missing
  for n = 1, #missing do table.insert(reply, 2 + n, missing[n]) end
  return table.concat(reply, '\n')
end

if seq > lastSeq then
  redis.call('HSET', instanceKey, 'waiting', max, 'slots', known[3] or max)
  turnsWanted = math.max(4, turns)
  local ended
  started, ended = takeUsualTurns(instanceId, math.min(max, turns), reply, leases)
  saveUsual()
  if ended then return answered() end
  turns = turns - started
  forgetOrders()
end

-- include: gate
-- include: flights
if seq <= lastSeq then
  local answer = {0, 0}
  if seq == lastSeq and known[2] then
    local leases = munpack(known[2])
    for n = 1, #leases, 3 do
      local job = flightOf(leases[n], leases[n + 1])
      local g = group(leases[n])
      local r = job and g and recordOf(leases[n], leases[n + 1])
      if r and job.token == leases[n + 2] then pushLease(answer, g, job, r) end
    end
  end
  redis.call('HSET', instanceKey, 'seen', atMs)
  return table.concat(answer, '\n')
end

-- Read before the first start: each start takes one of the waiting slots away.
if C.maxShare < 1 then slots() end
local SUSPECT_FROM = math.max(1, math.min(2, C.maxOrphanCount))

local function isUsedUp(scope)
  return scope.concurrency and scope.running >= scope.concurrency
end

local function deny(g, job, waitUs)
  g.denied = g.denied + 1
  denied = denied + 1
  local s = stateOf(g.key, job.id) or {}
  s.rs, s.dm = 'RATE_LIMITED', math.ceil(waitUs / 1000)
  redis.call('HSET', base .. 's:' .. g.key, job.id, mpack(s))
  g.tried = true
  leaveReady(g, job)
  toNonReady(g, job, 'RATE_LIMITED', math.ceil(waitUs / 1000), true, 0)
end

local function start(g, job, r, s)
  local t = tenant(g.tenantId)
  local b = bucketOf(g)
  if b then g.tat = spend(b, job.cost) end
  b = bucketOf(t)
  if b then t.tat = spend(b, job.cost) end
  b = globalBucket()
  if b then S.tat = spend(b, job.cost) end
  local R = job.resource and resource(job.resource)
  b = R and bucketOf(R)
  if b then R.tat = spend(b, job.cost) end
  S.token = S.token + 1
  job.token, job.since, job.instance, job.tried = S.token, atMs, instanceId, s and true
  job.retry, job.orphan, job.attempts = s and s.r or 0, s and s.o or 0, (s and s.a or 0) + 1
  job.suspect = job.orphan >= SUSPECT_FROM
  if job.suspect then suspects = suspects + 1 end
  g.running = g.running + 1
  g.inFlight = g.inFlight + 1
  t.running = t.running + 1
  t.inFlight = t.inFlight + 1
  putFlight(g, job, r)
  Slowing.noteStart(g, job, r.t)
  t.served = t.served + job.cost
  countEvents(t, job.cost)
  if job.attempts == 1 then g.progressAt = atMs end
  if not g.startedAt then
    g.startedAt = atMs
    if g.status == 'DISPATCHED' then g.status = 'RUNNING' end
    tell('group.started', g)
  end
  pushLease(reply, g, job, r)
  leases[started * 3 + 1], leases[started * 3 + 2], leases[started * 3 + 3] = g.key, job.id, job.token
  started = started + 1
  if slotsSeen then slotsSeen.waiting = slotsSeen.waiting - 1 end
end

-- The checks that hold however a job came here; it has left its place, and its turn is charged.
local function startFound(g, job, r, s)
  if not r or r.k then
    missing[#missing + 1] = job.key .. '/' .. job.id
    endTurn(g, job, 0)
  elseif r.corrupt then
    missing[#missing + 1] = job.key .. '/' .. job.id
    failCorrupt(g, job, r, true)
  else
    start(g, job, r, s)
  end
end

-- A job that was lost often runs beside no other such one: see isSuspect in src/memory/leases.ts.
local function mustWait(s)
  return suspects > 0 and s and (s.o or 0) >= SUSPECT_FROM
end

-- What it calls became limited after it was let into ready, or wants to be left alone.
local function isHeldBack(job, processorType)
  local called = limitedResource(processorType)
  return called and (job.resource ~= called.name or (called.frozen or 0) > atMs)
end

-- Much may have changed while it was ready.
local function takeReady(entry)
  local job = readReady(entry)
  local g = job and group(job.key)
  if not job then
    keepCorrupt('ready', entry)
    S.readyJobs = S.readyJobs - 1
  elseif not g then
    missing[#missing + 1] = job.key .. '/' .. job.id
    S.readyJobs = S.readyJobs - 1
    S.readyCost = S.readyCost - job.cost
    S.held = S.held - 1
    local R = job.resource and resource(job.resource)
    if R then R.held, R.readyCost = R.held - 1, R.readyCost - job.cost end
  elseif not isLive(g, job.round) then
    leaveReady(g, job)
    bury(g, job, true, 0)
  elseif g.paused or isUsedUp(g) or isUsedUp(tenant(g.tenantId)) then
    back[#back + 1] = {g, job}
  elseif isOverdue(g, job) then
    leaveReady(g, job)
    failOverdue(g, job, true)
  else
    local r, s = recordOf(job.key, job.id), g.tried and stateOf(g.key, job.id)
    local waitUs = rateSlot(g, job.cost, job.resource and resource(job.resource)) - atUs
    if r and not r.k and not r.corrupt then
      if mustWait(s) then
        aside[#aside + 1] = entry
        return
      elseif isHeldBack(job, r.t) then
        back[#back + 1] = {g, job}
        return
      elseif waitUs > 0 then
        return deny(g, job, waitUs)
      end
    end
    leaveReady(g, job)
    startFound(g, job, r, s)
  end
end

-- Straight from its lane: the gate has just looked at everything else.
local function takeTurnOf(g, job)
  local t = tenant(g.tenantId)
  takeTurn(g, t, job)
  job.id = leaveLane(g)
  refresh(g, t)
  local r, s = recordOf(job.key, job.id), g.tried and stateOf(g.key, job.id)
  if mustWait(s) then
    countReady(g, job)
    aside[#aside + 1] = readyEntry(job)
  else
    startFound(g, job, r, s)
  end
end

-- A function: Lua has room for 200 names at once, and those of its loops would be among them.
local function takeAll()
  local left = max + LOOKS_MAX
  while left > 0 and started < max do
    local entries = redis.call('LPOP', base .. 'ready', math.min(max - started, left))
    if not entries then break end
    left = left - #entries
    for n = 1, #entries do takeReady(entries[n]) end
  end
  if turns > 0 and left > 0 and started < max then
    local looks = newLooks(turns)
    unparkDue(LOOKS_MAX)
    while left > 0 and started < max and turns > 0 do
      left = left - 1
      turns = turns - 1
      local g, job = nextGroup(looks)
      if not g then break end
      takeTurnOf(g, job)
    end
  end
  for n = #back, 1, -1 do readyToLane(back[n][1], back[n][2]) end
  for n = #aside, 1, -1 do redis.call('LPUSH', base .. 'ready', aside[n]) end
end
takeAll()
return answered()
