-- purpose:   register jobs in a group, which is made when it does not exist.
-- guarantee: a known id is left alone; a refused batch leaves nothing behind.
-- KEYS:      meta
-- ARGV:      settings key tenant tenantId weight level rps burst concurrency timeoutMs deadline traceparent fingerprint later jobs...
-- returns:   {'added', added, known, registered} | {'sealed', unknown} | {'full', scope, queued, max} | {'elsewhere'}
-- cost:      O(jobs).

-- include: usual-adds
-- Each job is 2 values: its id, and its body as lua/jobs.lua keeps it.
local FIRST, STEP = 15, 2
local definition, later, total = readDefinition(2), tonumber(ARGV[14]), (#ARGV - FIRST + 1) / STEP
local usual, registered = addUsual(definition, later, FIRST)
if usual then
  saveAdded()
  return {'added', usual, total - usual, registered}
end

-- include: registration
local key = definition.key
local g = group(key)
if not g and Homes.claimOn(key) then return {'elsewhere'} end
local ids, known = {}, {}
for n = 1, total do ids[n] = ARGV[FIRST + (n - 1) * STEP] end
if g and total > 0 then known = redis.call('HMGET', base .. 'j:' .. key, unpack(ids)) end
local fresh, seen = {}, {}
for n = 1, total do
  if not known[n] and not seen[ids[n]] then
    seen[ids[n]] = true
    fresh[#fresh + 1] = FIRST + (n - 1) * STEP
  end
end
if g and #fresh > 0 and (g.sealed or hasEnded(g.status)) then return {'sealed', #fresh} end
if #fresh > 0 then
  local wanted = #fresh + math.max(0, later)
  if C.queuedJobsMax > 0 and S.pending + wanted > C.queuedJobsMax then
    return {'full', 'engine', S.pending, C.queuedJobsMax}
  end
  local t = tenant(g and g.tenantId or definition.tenantId)
  local queued = t and t.pending or 0
  if C.tenantQueuedJobsMax > 0 and queued + wanted > C.tenantQueuedJobsMax then
    return {'full', 'tenant', queued, C.tenantQueuedJobsMax}
  end
end
g = g or register(definition)
local records, order, lane = {}, {}, {}
local head = pack(JOB, 0, atMs, g.round)
for n = 1, #fresh do
  local id, body = ARGV[fresh[n]], ARGV[fresh[n] + 1]
  records[2 * n - 1], records[2 * n], order[n] = id, head .. body, id
  local line = find(body, '\n', 1, true)
  if line == 1 then
    lane[#lane + 1] = id
  else
    local r = {}
    readUnusual(r, sub(body, 1, line - 1))
    local job = {key = key, id = id, cost = r.c, charge = r.ch, deadline = r.dl, round = g.round}
    local delayMs = (r.nb or 0) - atMs
    if delayMs > 0 then toNonReady(g, job, 'SCHEDULED', delayMs, false) else lane[#lane + 1] = laneEntry(g, job) end
  end
end
if #fresh > 0 then
  inPieces('HSET', base .. 'j:' .. key, records)
  inPieces('RPUSH', base .. 'o:' .. key, order)
  g.registered = g.registered + #fresh
  g.progressAt = atMs
end
if #lane > 0 then
  inPieces('RPUSH', laneKey(g), lane)
  local t = tenant(g.tenantId)
  if g.lane == 0 then S.laneGroups = S.laneGroups + 1 end
  g.lane = g.lane + #lane
  t.laneJobs = t.laneJobs + #lane
  S.laneJobs = S.laneJobs + #lane
  countPending(g, #lane)
  if g.lane == #lane then refresh(g) end
end
save()
return {'added', #fresh, total - #fresh, g.registered}
