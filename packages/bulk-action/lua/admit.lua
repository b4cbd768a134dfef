-- purpose:   one waiting job through the gate.
-- guarantee: a refused job is at the head of its lane, or where it was; it is never lost.
-- KEYS:      meta
-- ARGV:      settings key jobId
-- returns:   {destination, reason} | {}
-- cost:      O(ready + log n).

-- include: when-full
-- include: place
local g = group(ARGV[2])
local id = ARGV[3]
local r = g and recordOf(g.key, id)
if not r then return {} end

local function isFull(scope)
  return scope.concurrency and scope.held >= scope.concurrency
end

local function admit()
  local place, dueMs, scheduled = placeOf(g, id, r)
  if place == 'DONE' or place == 'DEAD' or place == 'IN_FLIGHT' then return {'REJECTED', 'NOT_WAITING'} end
  if not isLive(g, r.rd) then return {'REJECTED', 'CANCELLED'} end
  if place == 'READY' then return {'READY', 'NONE'} end
  if place == 'NON_READY' and dueMs > atMs then return {'NON_READY', 'NOT_DUE'} end
  local job = waitingJob(g, id)
  local reason = place == 'NON_READY' and reasonOf(g, id, scheduled)
  if place == 'LANE' then
    local first = firstOfLane(g)
    if not first or first.id ~= id then return {'REJECTED', 'TURN'} end
    job = first
  end
  if isOverdue(g, job) then
    if reason then leaveNonReady(g, g.key .. '/' .. id, reason, true) else leaveLane(g) end
    failOverdue(g, job, false)
    return {'REJECTED', 'DEADLINE_EXCEEDED'}
  end
  unparkDue(LOOKS_MAX)
  if reason then nonReadyToLane(g, job, reason, dueMs) end
  local t = tenant(g.tenantId)
  if g.paused then return {'REJECTED', 'PAUSED'} end
  if isFull(g) then return {'REJECTED', 'GROUP_CAP'} end
  if isFull(t) then return {'REJECTED', 'TENANT_CAP'} end
  if S.readyJobs >= readyBound() then return {'REJECTED', 'READY_FULL'} end
  local R = knownResource(r.t)
  local slotUs = math.max(R and slotOf(bucketOf(R), job.cost, R.readyCost) or 0, groupSlotOf(g, job.cost, g.readyCost), slotOf(bucketOf(t), job.cost, t.readyCost),
    slotOf(globalBucket(), job.cost, S.readyCost))
  if slotUs > atUs then
    leaveLane(g)
    local s = stateOf(g.key, id) or {}
    s.rs, s.dm = 'RATE_LIMITED', math.ceil((slotUs - atUs) / 1000)
    redis.call('HSET', base .. 's:' .. g.key, id, mpack(s))
    g.tried = true
    toNonReady(g, job, 'RATE_LIMITED', math.ceil((slotUs - atUs) / 1000), false)
    return {'NON_READY', 'RATE_LIMITED'}
  end
  if not enterReadyInTurn(g, job) then return {'REJECTED', 'TURN'} end
  return {'READY', 'NONE'}
end

local answer = admit()
save()
return answer
