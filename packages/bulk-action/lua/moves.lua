-- purpose:   the arrows between the places of a job, as src/memory/moves.ts; every counter changes here, with its entry.
-- guarantee: a job is in exactly one place. A live job is {key, id, cost, charge?, deadline?, waiting, round}; in ready and in
--            flight also {charged, ge, te}, what its turn was charged; tries = {retry, orphan, attempts, tries}.
-- defines:   isLive, deadlineOf, isOverdue, laneKey, joinLane, peekLane, laneToReady, readyToLane, flightToLane,
--            nonReadyToLane, leaveReady, leaveNonReady, leaveFlight, toNonReady, keepTry, measured, finish, fail,
--            failCorrupt, failOverdue, bury, recordOf, stateOf, keepCorrupt.
-- cost:      O(log n) each.

-- include: fair
-- include: window
-- include: ending
local TRIES_KEPT = 5
local BOUNDS = {1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
  6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072, 196608, 262144, 393216, 524288, 786432, 1048576,
  1572864, 2097152, 3145728, 4194304}

local function isLive(g, round)
  return round == g.round and not hasEnded(g.status)
end

local function deadlineOf(g, job)
  if not job.deadline then return g.deadline end
  if not g.deadline then return job.deadline end
  return math.min(job.deadline, g.deadline)
end

local function isOverdue(g, job)
  local deadline = deadlineOf(g, job)
  return deadline and atMs >= deadline
end

-- The static record of a job and the state of its tries; a job that was never tried has no state.
local function recordOf(key, id)
  local value = redis.call('HGET', base .. 'j:' .. key, id)
  if not value then return nil end
  local r = munpack(value)
  if r and r.t then return r end
  -- Damaged: the job can still be counted, and somebody may look at what is left of it.
  local g = group(key)
  return {t = '', c = 1, at = atMs, rd = g and g.round, corrupt = value}
end

local function keepCorrupt(name, value)
  redis.call('LPUSH', base .. 'corrupt', name .. ' ' .. value)
  redis.call('LTRIM', base .. 'corrupt', 0, 99)
end

local function stateOf(key, id)
  local value = redis.call('HGET', base .. 's:' .. key, id)
  return value and munpack(value)
end

local function laneKey(g)
  return base .. 'l:' .. g.key .. ':' .. g.round
end

local function laneEntry(job)
  if job.cost == 1 and not job.charge and not job.deadline and not job.waiting then return job.id end
  return table.concat({job.id, job.cost, job.charge or '-', job.deadline or '-', job.waiting or '-'}, '\t')
end

local function readLane(g, entry)
  local id, cost, charge, deadline, waiting = string.match(entry, '^([^\t]+)\t([^\t]+)\t([^\t]+)\t([^\t]+)\t(.+)$')
  if not id then return {key = g.key, id = entry, cost = 1, round = g.round} end
  return {key = g.key, id = id, cost = tonumber(cost), charge = tonumber(charge), deadline = tonumber(deadline),
    waiting = tonumber(waiting), round = g.round}
end

local function peekLane(g)
  local entry = redis.call('LINDEX', laneKey(g), 0)
  return entry and readLane(g, entry)
end

local function countPending(g, by)
  g.pending = g.pending + by
  local t = tenant(g.tenantId)
  t.pending = t.pending + by
  S.pending = S.pending + by
end

local function enterLane(g, job, command)
  redis.call(command, laneKey(g), laneEntry(job))
  g.lane = g.lane + 1
  if g.lane == 1 then S.laneGroups = S.laneGroups + 1 end
  local t = tenant(g.tenantId)
  t.laneJobs = t.laneJobs + 1
  S.laneJobs = S.laneJobs + 1
  countPending(g, 1)
end

-- Takes the first job of a lane out of it.
local function leaveLane(g)
  redis.call('LPOP', laneKey(g))
  g.lane = g.lane - 1
  if g.lane == 0 then S.laneGroups = S.laneGroups - 1 end
  local t = tenant(g.tenantId)
  t.laneJobs = t.laneJobs - 1
  S.laneJobs = S.laneJobs - 1
  countPending(g, -1)
end

local function joinLane(g, job)
  enterLane(g, job, 'RPUSH')
  if g.lane == 1 then refresh(g) end
end

-- Its entry has been taken from the list, or is being removed.
local function leaveReady(g, job)
  local t = tenant(g.tenantId)
  g.readyCost = g.readyCost - job.cost
  t.readyCost = t.readyCost - job.cost
  S.readyCost = S.readyCost - job.cost
  S.readyJobs = S.readyJobs - 1
  if isLive(g, job.round) then
    g.ready = g.ready - 1
    countPending(g, -1)
  end
end

local function leaveNonReady(g, name, reason, live)
  redis.call('ZREM', base .. (reason == 'SCHEDULED' and 'sched' or 'nr'), name)
  S[reason] = S[reason] - 1
  if live then
    g.nonReady = g.nonReady - 1
    countPending(g, -1)
  end
end

local function leaveFlight(g, job)
  local name = g.key .. '/' .. job.id
  redis.call('HDEL', base .. 'fl', name)
  redis.call('ZREM', base .. 'fz', name)
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

local function laneToReady(g, job)
  takeTurn(g, job)
  leaveLane(g)
  local t = tenant(g.tenantId)
  g.readyCost = g.readyCost + job.cost
  t.readyCost = t.readyCost + job.cost
  S.readyCost = S.readyCost + job.cost
  S.readyJobs = S.readyJobs + 1
  g.ready = g.ready + 1
  countPending(g, 1)
  redis.call('RPUSH', base .. 'ready', mpack({g.key, job.id, job.cost, job.charged, job.ge, job.te, job.round,
    job.charge or false, job.deadline or false, job.waiting or false}))
  refresh(g)
  ring('work')
end

local function readReady(entry)
  local v = munpack(entry)
  if not v or not v[2] then return nil end
  return {key = v[1], id = v[2], cost = v[3], charged = v[4], ge = v[5], te = v[6], round = v[7],
    charge = v[8] or nil, deadline = v[9] or nil, waiting = v[10] or nil}
end

local function readyToLane(g, job)
  leaveReady(g, job)
  returnToLane(g, job)
  endTurn(g, job, 0)
end

local function measured(durationMs)
  if C.charge == 'time' then return math.max(1, durationMs) end
  return nil
end

local function flightToLane(g, job)
  leaveFlight(g, job)
  job.waiting = atMs
  returnToLane(g, job)
  endTurn(g, job, measured(atMs - job.since))
end

-- A due job; `dueMs` is when it could have gone on.
local function nonReadyToLane(g, job, reason, dueMs)
  leaveNonReady(g, g.key .. '/' .. job.id, reason, true)
  job.waiting = math.min(atMs, dueMs)
  returnToLane(g, job)
  refresh(g)
end

-- Waits outside the fair queue, but not past its deadline. It has left its place already.
local function toNonReady(g, job, reason, delayMs, held, real)
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

local function keepTry(s, ms, code, message)
  local tries = s.tr or {}
  while #tries >= TRIES_KEPT do table.remove(tries, 1) end
  tries[#tries + 1] = {atMs, ms, code, message}
  s.tr = tries
end

local function bucketIndex(ms)
  local low, high = 0, #BOUNDS
  while low < high do
    local middle = math.floor((low + high) / 2)
    if BOUNDS[middle + 1] < ms then low = middle + 1 else high = middle end
  end
  return low
end

local function recordDuration(g, ms)
  redis.call('HINCRBY', base .. 'g:' .. g.key, 'b' .. bucketIndex(ms), 1)
  g.dmin = g.dc == 0 and ms or math.min(g.dmin, ms)
  g.dmax = math.max(g.dmax, ms)
  g.dc = g.dc + 1
  g.ds = g.ds + ms
end

-- What every end of a job has in common. The job has left its place; `count` counts it.
local function finish(g, job, durationMs, held, count)
  g.progressAt = atMs
  if durationMs then recordDuration(g, durationMs) end
  countEvents(g, 1)
  count()
  if atMs - (g.eventAt or -1000) >= 1000 then
    g.eventAt = atMs
    tell('group.progress', g)
  end
  if held then
    local real = 0
    if durationMs then real = measured(durationMs) end
    endTurn(g, job, real)
  else
    refresh(g)
  end
  endIdleEpochs(tenant(g.tenantId))
  completeIfDone(g)
end

-- The record of a job that has ended: C completed, F failed, X dead, K cancelled; the payload only where it is kept.
local function writeDone(g, id, kind, r, s)
  redis.call('HSET', base .. 'j:' .. g.key, id, mpack({k = kind, t = r.t, c = r.c, at = r.at, nb = r.nb, dl = r.dl, tp = r.tp,
    ch = r.ch, rd = r.rd, p = kind ~= 'C' and kind ~= 'K' and r.p or nil, ea = atMs, s = s}))
  redis.call('HDEL', base .. 's:' .. g.key, id)
end

local function failedDetail(id, code, message)
  return cjson.encode({jobId = id, code = code, message = message})
end

local function keepDeadLetter(g, job, r, s, code, message, signature)
  S.seq = S.seq + 1
  local letter = mpack({q = S.seq, g = g.key, id = job.id, t = r.t, p = r.p, c = r.c, ch = r.ch, nb = r.nb, dl = r.dl,
    tp = r.tp, at = r.at, s = s, e = message, code = code, sig = signature, fa = atMs})
  redis.call('HSET', base .. 'dlr', S.seq, letter)
  redis.call('ZADD', base .. 'dl', S.seq, S.seq)
  redis.call('ZADD', base .. 'dlg:' .. g.key, S.seq, S.seq)
  redis.call('ZADD', base .. 'dls:' .. redis.sha1hex(signature), S.seq, S.seq)
  g.dead = g.dead + 1
  return S.seq
end

-- For good; `inFlight`: it was being run, so the try counts. `signature`: keep it as a dead letter.
local function fail(g, job, code, message, options)
  local r = options.r or recordOf(g.key, job.id)
  local s = options.s or stateOf(g.key, job.id) or {}
  if options.inFlight then keepTry(s, options.durationMs, code, message) end
  local kind = options.signature and 'X' or 'F'
  local letter
  finish(g, job, options.inFlight and options.durationMs or nil, options.held, function()
    g.failed = g.failed + 1
    redis.call('HINCRBY', base .. 'fc:' .. g.key, code, 1)
    if redis.call('LLEN', base .. 'fj:' .. g.key) < C.failedDetailsMaxCount then
      redis.call('RPUSH', base .. 'fj:' .. g.key, failedDetail(job.id, code, message))
    end
    if options.signature then
      letter = keepDeadLetter(g, job, r, s, code, message, options.signature)
      tell('job.dead', g, job.id)
    end
  end)
  writeDone(g, job.id, kind, r, s)
  return letter
end

local function isoDate(ms)
  local days = math.floor(ms / 86400000)
  local rest = ms - days * 86400000
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day, math.floor(rest / 3600000),
    math.floor(rest / 60000) % 60, math.floor(rest / 1000) % 60, rest % 1000)
end

-- A job whose record was damaged; it has left its place. Its neighbours go on.
local function failCorrupt(g, job, r, held)
  keepCorrupt(g.key .. '/' .. job.id, r.corrupt)
  fail(g, job, 'RECORD_CORRUPTED', 'The record of the job is damaged', {durationMs = 0, held = held, r = r, s = {}})
end

-- A job whose deadline has passed before it could start; it has left its place.
local function failOverdue(g, job, held)
  local message = 'The deadline ' .. isoDate(deadlineOf(g, job)) .. ' has passed'
  fail(g, job, 'DEADLINE_EXCEEDED', message, {durationMs = 0, held = held})
end

-- The end of a job whose round ended without it: counted there already. It has left its place.
local function bury(g, job, held, real, s)
  local r = recordOf(g.key, job.id)
  if r and not r.k then writeDone(g, job.id, 'K', r, s or stateOf(g.key, job.id) or {}) end
  if held then endTurn(g, job, real) end
end
