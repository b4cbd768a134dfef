-- purpose:   what bears on one job; the rule in src/rules/explain.ts says what it means.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key jobId
-- returns:   JSON of ExplainFacts | nil
-- cost:      O(ready + parked + lane of the group).

-- include: json
local g = group(ARGV[2])
local id = ARGV[3]
local r = g and recordOf(g.key, id)
if not r then return false end
local t = tenant(g.tenantId)

local Json, Facts = {}, {}

function Json.bucketJson(b)
  if not b then return nil end
  return '{"rps":' .. number(b.rps) .. ',"burst":' .. number(b.burst) .. ',"tatUs":' .. number(b.tat) .. ',"costMax":'
    .. number(C.costMax) .. '}'
end

function Json.scopeJson(scope, extra)
  local list = {}
  put(list, 'held', scope.held)
  put(list, 'running', scope.running)
  put(list, 'concurrency', scope.concurrency)
  put(list, 'readyCost', scope.readyCost)
  local b = Json.bucketJson(bucketOf(scope))
  if b then list[#list + 1] = '"bucket":' .. b end
  for n = 1, #extra do list[#list + 1] = extra[n] end
  return object(list)
end

function Json.slowJson(slow)
  local list = {}
  put(list, 'frozenForMs', math.max(0, slow.frozen - atMs))
  local b = Json.bucketJson(bucketOf(slow))
  if b then list[#list + 1] = '"bucket":' .. b end
  return object(list)
end

function Json.resourceJson(R)
  local list = {}
  put(list, 'name', R.name)
  put(list, 'frozenForMs', math.max(0, (R.frozen or 0) - atMs))
  put(list, 'held', R.held)
  put(list, 'concurrency', R.concurrency)
  put(list, 'readyCost', R.readyCost)
  local b = Json.bucketJson(bucketOf(R))
  if b then list[#list + 1] = '"bucket":' .. b end
  return object(list)
end

function Facts.countAhead(zset, record, name, start)
  local count = redis.call('ZCOUNT', zset, '-inf', '(' .. number(start))
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', zset, number(start), number(start))) do
    if other < memberOf(record.seq, name) then count = count + 1 end
  end
  return count
end

function Facts.hasTokens(other)
  local job, owner = peekLane(other), tenant(other.tenantId)
  local cost = job and job.cost or 1
  return slotOf(bucketOf(other), cost, other.readyCost) <= atUs and slotOf(bucketOf(owner), cost, owner.readyCost) <= atUs
    and slotOf(globalBucket(), cost, S.readyCost) <= atUs
end

function Facts.isOverShare()
  local function fairGroups(seat)
    if not seat.R and seat.own then return {seat.own} end
    local keys = redis.call('ZRANGE', groupOrder(seat).key, 0, -1)
    for n = 1, #keys do keys[n] = sub(keys[n], 18) end
    return keys
  end

  local function someoneHoldsLess(R)
    for _, tenantMember in ipairs(redis.call('ZRANGE', lineOf(R).key, 0, -1)) do
      local owner = tenantNamed(sub(tenantMember, 18))
      for _, key in ipairs(fairGroups(R and seatIn(owner, R) or owner)) do
        local other = group(key)
        if other and other.held < g.held and Facts.hasTokens(other) then return true end
      end
    end
    return false
  end

  local most = math.ceil(C.maxShare * slots().live)
  if C.maxShare >= 1 or most == 0 or g.held < most then return false end
  if S.readyJobs >= slots().waiting or someoneHoldsLess(nil) then return true end
  for n = 1, #lines do
    if someoneHoldsLess(resource(lines[n])) then return true end
  end
  return false
end

function Facts.jobsAhead(place)
  if place ~= 'LANE' or not isLive(g, r.rd) then return 0 end
  local entries = redis.call('LRANGE', laneKey(g), 0, -1)
  for n = 1, #entries do
    if readLane(g, entries[n]).id == id then return n - 1 end
  end
  return 0
end

function Facts.processorKnown()
  local alive = aliveInstances()
  for n = 1, #alive, 2 do
    local types = redis.call('HGET', base .. 'i:' .. alive[n], 'types')
    for _, name in ipairs(types and cjson.decode(types) or {}) do
      if name == r.t then return true end
    end
  end
  return false
end

local jobText, place, dueMs, readyAt = jobJson(g, id, r, false)
local seat = g.fair and seatAt(g, t) or t
local groupStart = g.fair and g.start or startTag(seat, g)
local seatStart = seat.fair and seat.start or startTag(seat.R or S, seat)
local global = {'"readyCost":' .. number(S.readyCost)}
do
  local b = Json.bucketJson(globalBucket())
  if b then global[#global + 1] = '"bucket":' .. b end
end
local list = {'"job":' .. jobText}
put(list, 'nowUs', atUs)
list[#list + 1] = '"group":' .. Json.scopeJson(g, {'"status":"' .. g.status .. '"', '"paused":' .. tostring(g.paused ~= nil),
  g.slow and '"slow":' .. Json.slowJson(g.slow) or nil})
list[#list + 1] = '"tenant":' .. Json.scopeJson(t, {})
list[#list + 1] = '"global":' .. object(global)
do
  local R = knownResource(r.t)
  if R then list[#list + 1] = '"resource":' .. Json.resourceJson(R) end
end
put(list, 'overShare', Facts.isOverShare())
put(list, 'jobsAhead', Facts.jobsAhead(place))
put(list, 'groupsAhead', Facts.countAhead(groupOrder(seat).key, g, g.key, groupStart))
put(list, 'tenantsAhead', Facts.countAhead(lineOf(seat.R).key, t, t.own or t.id, seatStart))
put(list, 'readyAhead', place == 'READY' and readyAt or S.readyJobs)
put(list, 'readyBound', readyBound())
put(list, 'waitingSlots', slots().waiting)
put(list, 'startsPerSecond', ratePerSecond(S))
put(list, 'groupSettledPerSecond', ratePerSecond(g))
put(list, 'processorKnown', Facts.processorKnown())
put(list, 'dueInMs', math.max(0, (dueMs or 0) - atMs))
return object(list)
