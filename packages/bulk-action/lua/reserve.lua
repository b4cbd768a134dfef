-- purpose:   ready → in flight, under a lease with a fencing token; rate tokens are spent here, by every try.
-- guarantee: repeatable: the same number again gets the same leases, as far as they stand; a lower one gets none. A job that
--            may not start goes to its lane (pause, lowered cap), to non-ready (no token), or ends (deadline, cancel).
-- KEYS:      meta
-- ARGV:      settings instanceId seq max
-- returns:   {rateDenied, missing, names of missing…, leases as 14 values each…}
-- cost:      O((max + 256) × log n).

-- include: when-full
-- include: flights
local instanceId, seq, max = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local instanceKey = base .. 'i:' .. instanceId
local known = redis.call('HMGET', instanceKey, 'seq', 'answer', 'slots', 'startedAt', 'suspects')
local lastSeq = tonumber(known[1]) or 0

if seq <= lastSeq then
  local answer = {0, 0}
  if seq == lastSeq and known[2] then
    local leases = munpack(known[2])
    for n = 1, #leases, 3 do
      local job = flightOf(leases[n], leases[n + 1])
      local g = group(leases[n])
      local r = job and g and recordOf(leases[n], leases[n + 1])
      if r and job.token == leases[n + 2] then pushLease(answer, g, job, r, tenantNameOf(g.key)) end
    end
  end
  redis.call('HSET', instanceKey, 'seen', atMs)
  redis.call('ZADD', base .. 'instances', atMs, instanceId)
  return answer
end

local answer, leases, back, aside, missing, denied, started = {}, {}, {}, {}, {}, 0, 0
local suspects = tonumber(known[5]) or 0
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
  g.tried = 1
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
  S.token = S.token + 1
  local suspect = s and (s.o or 0) >= SUSPECT_FROM
  if suspect then suspects = suspects + 1 end
  job.token, job.since, job.instance = S.token, atMs, instanceId
  job.retry, job.orphan, job.attempts = s and s.r or 0, s and s.o or 0, (s and s.a or 0) + 1
  leaveReady(g, job)
  g.running = g.running + 1
  g.inFlight = g.inFlight + 1
  t.running = t.running + 1
  t.inFlight = t.inFlight + 1
  local name = g.key .. '/' .. job.id
  redis.call('HSET', base .. 'fl', name, mpack({i = instanceId, k = job.token, s = atMs, ch = job.charged, ge = job.ge,
    te = job.te, rd = job.round, a = job.attempts, r = job.retry, o = job.orphan, c = job.cost, q = job.charge,
    d = job.deadline, w = job.waiting, x = s and 1 or nil, u = suspect and 1 or nil}))
  redis.call('ZADD', base .. 'fz', atMs + C.ackTimeoutMs, name)
  t.served = t.served + job.cost
  countEvents(t, job.cost)
  if job.attempts == 1 then g.progressAt = atMs end
  if not g.startedAt then
    g.startedAt = atMs
    if g.status == 'DISPATCHED' then g.status = 'RUNNING' end
    tell('group.started', g)
  end
  started = started + 1
  pushLease(answer, g, job, r, tenantNameOf(g.key))
  leases[#leases + 1], leases[#leases + 2], leases[#leases + 3] = g.key, job.id, job.token
end

local looks = max + LOOKS_MAX
while looks > 0 and started < max do
  looks = looks - 1
  local entry = redis.call('LPOP', base .. 'ready')
  if not entry then break end
  local job = readReady(entry)
  local g = job and group(job.key)
  local r = g and recordOf(job.key, job.id)
  if not job then
    keepCorrupt('ready', entry)
    S.readyJobs = S.readyJobs - 1
  elseif not g then
    missing[#missing + 1] = job.key .. '/' .. job.id
    S.readyJobs = S.readyJobs - 1
    S.readyCost = S.readyCost - job.cost
    S.held = S.held - 1
  elseif not isLive(g, job.round) then
    leaveReady(g, job)
    bury(g, job, true, 0)
  elseif not r or r.k then
    missing[#missing + 1] = job.key .. '/' .. job.id
    leaveReady(g, job)
    endTurn(g, job, 0)
  elseif r.corrupt then
    missing[#missing + 1] = job.key .. '/' .. job.id
    leaveReady(g, job)
    failCorrupt(g, job, r, true)
  elseif g.paused or isUsedUp(g) or isUsedUp(tenant(g.tenantId)) then
    back[#back + 1] = {g, job}
  elseif isOverdue(g, job) then
    leaveReady(g, job)
    failOverdue(g, job, true)
  else
    local s = g.tried and stateOf(g.key, job.id)
    if suspects > 0 and s and (s.o or 0) >= SUSPECT_FROM then
      aside[#aside + 1] = entry
    else
      local waitUs = rateSlot(g, job.cost) - atUs
      if waitUs > 0 then deny(g, job, waitUs) else start(g, job, r, s) end
    end
  end
end
for n = #back, 1, -1 do readyToLane(back[n][1], back[n][2]) end
-- A job that was lost often runs beside no other such one: see isSuspect in src/memory/leases.ts.
for n = #aside, 1, -1 do redis.call('LPUSH', base .. 'ready', aside[n]) end
if started > 0 then countEvents(S, started) end
redis.call('HSET', instanceKey, 'seq', seq, 'answer', mpack(leases), 'waiting', max - started, 'seen', atMs,
  'slots', known[3] or max, 'startedAt', known[4] or atMs, 'suspects', suspects)
redis.call('ZADD', base .. 'instances', atMs, instanceId)
slotsSeen = nil
if redis.call('EXISTS', base .. 'tf') == 1 and S.readyJobs < readyBound() then ring('fetch') end
-- Handed on from process to process: a marker wakes one, and more may be ready than it takes.
if S.readyJobs > #aside then ring('work') end
save()
local reply = {denied, #missing}
for n = 1, #missing do reply[#reply + 1] = missing[n] end
for n = 1, #answer do reply[#reply + 1] = answer[n] end
return reply
