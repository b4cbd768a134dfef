-- purpose:   due non-ready → ready through the gate, else to the head of their lanes.
-- guarantee: while ready is full nothing is taken; a repeat takes what is due then.
-- KEYS:      meta
-- ARGV:      settings max
-- returns:   {moved, ready, skipped, nextInMs or -1}
-- cost:      O(max × log n).

-- include: when-full
-- include: waiting
local max = tonumber(ARGV[2])
local bound = readyBound()
local moved, ready, skipped = 0, 0, false
clampFarOff()
unparkDue(LOOKS_MAX)
while moved < max do
  local name, dueMs, scheduled = nextDue()
  if not name or dueMs > atMs then break end
  if S.readyJobs >= bound then
    skipped = true
    break
  end
  moved = moved + 1
  local key, id = splitName(name)
  local g = group(key)
  local job, r
  if g then job, r = waitingJob(g, id) end
  if not job then
    -- Its record is gone: nobody can run it.
    redis.call('ZREM', base .. (scheduled and 'sched' or 'nr'), name)
    local reason = g and reasonOf(g, id, scheduled) or (scheduled and 'SCHEDULED' or 'RATE_LIMITED')
    S[reason] = math.max(0, S[reason] - 1)
  else
    local reason = reasonOf(g, id, scheduled)
    if not isLive(g, job.round) then
      leaveNonReady(g, name, reason, false)
      bury(g, job, false)
    elseif r.corrupt then
      leaveNonReady(g, name, reason, true)
      failCorrupt(g, job, r, false)
    elseif isOverdue(g, job) then
      leaveNonReady(g, name, reason, true)
      failOverdue(g, job, false)
    elseif (job.notBefore or 0) > atMs then
      -- A deadline that was taken back had made it due early.
      redis.call('ZADD', base .. (scheduled and 'sched' or 'nr'), job.notBefore, name)
    else
      nonReadyToLane(g, job, reason, dueMs)
      if enterReadyInTurn(g, job) then ready = ready + 1 end
    end
  end
end
local name, dueMs = nextDue()
local nextInMs = -1
if name and not skipped then nextInMs = math.max(0, math.ceil(dueMs - atMs)) end
save()
return {moved, ready, skipped and 1 or 0, nextInMs}
