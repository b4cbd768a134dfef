-- purpose:   how full the queues are.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings
-- returns:   JSON of a QueuesView
-- cost:      O(parked + instances + ready entries of ended rounds), and 32 tenants of each line.

-- include: json
-- include: waiting
local LINE_LOOKS, READY_LOOKS = 32, 32
local sinceMs = atMs

local function look(since)
  sinceMs = math.min(sinceMs, since)
end

local function waitingSince(g, job)
  if job.waiting then return job.waiting end
  local r = recordOf(g.key, job.id)
  return r and r.at or atMs
end

local function lookAtReady()
  local from = 0
  while true do
    local entries = redis.call('LRANGE', base .. 'ready', from, from + READY_LOOKS - 1)
    for n = 1, #entries do
      local job = readReady(entries[n])
      local g = job and group(job.key)
      if g and isLive(g, job.round) and not g.paused then return look(waitingSince(g, job)) end
    end
    if #entries < READY_LOOKS then return end
    from = from + READY_LOOKS
  end
end

local function lookAtDue()
  local name, due = nextDue()
  if not name then return end
  local key, id = splitName(name)
  local g = group(key)
  local r = g and recordOf(key, id)
  if r and isLive(g, r.rd) and not g.paused then look(due) end
end

local function lookAtLine(R)
  local members = redis.call('ZRANGE', lineOf(R).key, 0, LINE_LOOKS - 1)
  for n = 1, #members do
    local t = tenantNamed(sub(members[n], 18))
    local g = t and topGroup(R and seatIn(t, R) or t)
    local job = g and firstOfLane(g)
    if job then look(waitingSince(g, job)) end
  end
end

lookAtReady()
lookAtDue()
lookAtLine()
for n = 1, #lines do lookAtLine(resource(lines[n])) end

local rates = {}
do
  local names = redis.call('HKEYS', base .. 'rc')
  for name in pairs(C.resources) do names[#names + 1] = name end
  local seen = {}
  for n = 1, #names do
    local R = not seen[names[n]] and resource(names[n])
    seen[names[n]] = true
    if R and R.rps then rates[#rates + 1] = cjson.encode(R.name) .. ':' .. number(R.rps) end
  end
end

local parkedGroups = 0
for _, name in ipairs(redis.call('ZRANGE', base .. 'parked', 0, -1)) do
  if string.sub(name, 1, 1) == 'g' then parkedGroups = parkedGroups + 1 end
end
local list, reasons = {}, {}
for _, name in ipairs({'RATE_LIMITED', 'API_THROTTLED', 'TRANSIENT_ERROR', 'SCHEDULED', 'NO_PROCESSOR', 'ORPHANED'}) do
  put(reasons, name, S[name])
end
put(list, 'tenants', redis.call('SCARD', base .. 'tenants'))
put(list, 'groups', S.laneGroups)
put(list, 'parkedGroups', parkedGroups)
put(list, 'lane', S.laneJobs)
put(list, 'ready', S.readyJobs)
put(list, 'readyBound', readyBound())
put(list, 'nonReady', redis.call('ZCARD', base .. 'nr') + redis.call('ZCARD', base .. 'sched'))
list[#list + 1] = '"nonReadyByReason":' .. object(reasons)
put(list, 'inFlight', redis.call('ZCARD', base .. 'fz'))
put(list, 'deadLetters', redis.call('ZCARD', base .. 'dl'))
put(list, 'liveSlots', slots().live)
put(list, 'waitingSlots', slots().waiting)
list[#list + 1] = '"congestionRates":' .. object(rates)
put(list, 'startsPerSecond', ratePerSecond(S))
put(list, 'oldestWaitingMs', atMs - sinceMs)
return object(list)
