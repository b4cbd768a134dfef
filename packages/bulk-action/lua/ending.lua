-- purpose:   the end of a round: by its last job, or cut short; as src/memory/ending.ts.
-- guarantee: the status changes together with the result; cutting a round is O(1) however many jobs it has.
-- defines:   completeIfDone(g), cutRound(g, status, code), openRound(g), expireAt(g, ms), laneKeys (of this step, by group).
-- cost:      O(1), and the failed jobs that a result lists.

-- include: fair
local expireAt, completeIfDone, cutRound, laneKeys, openRound
do
  function expireAt(g, ms)
    g.expires = ms
    redis.call('ZADD', base .. 'exp', ms, g.key)
  end

  -- The raw numbers of a round; the adapter makes the result of them.
  local function keepResult(g)
    local hash = base .. 'g:' .. g.key
    local buckets = {}
    local fields = redis.call('HGETALL', hash)
    for n = 1, #fields, 2 do
      local index = string.match(fields[n], '^b(%d+)$')
      if index then buckets[#buckets + 1] = '"' .. index .. '":' .. fields[n + 1] end
    end
    local codes = redis.call('HGETALL', base .. 'fc:' .. g.key)
    local byCode = {}
    for n = 1, #codes, 2 do byCode[#byCode + 1] = cjson.encode(codes[n]) .. ':' .. codes[n + 1] end
    local numbers = string.format(
      '"round":%d,"total":%d,"success":%d,"failed":%d,"cancelled":%d,"count":%d,"sum":%.17g,"min":%.17g,"max":%.17g,"endedAt":%d',
      g.round, g.registered, g.success, g.failed, g.cancelled, g.dc, g.ds, g.dmin, g.dmax, atMs)
    local text = '{"status":"' .. g.status .. '"' .. (g.code and ',"code":"' .. g.code .. '"' or '')
      .. (g.startedAt and ',"startedAt":' .. string.format('%d', g.startedAt) or '') .. ',' .. numbers
      .. ',"buckets":{' .. table.concat(buckets, ',') .. '},"failedByCode":{' .. table.concat(byCode, ',')
      .. '},"failedJobs":[' .. table.concat(redis.call('LRANGE', base .. 'fj:' .. g.key, 0, -1), ',') .. ']}'
    redis.call('HSET', base .. 'r:' .. g.key, g.round, text)
  end

  local function endRound(g, status)
    g.status = status
    g.endedAt = atMs
    local t = tenant(g.tenantId)
    t.open = t.open - 1
    if g.paused then
      g.pausedMs = g.pausedMs + atMs - g.paused
      g.paused = nil
    end
    keepResult(g)
    expireAt(g, atMs + C.jobRetentionMs)
    tell(status == 'COMPLETED' and 'group.completed' or 'group.failed', g)
  end

  -- The one done-test, run by seal and by every settlement.
  function completeIfDone(g)
    if not g.sealed or hasEnded(g.status) or g.pending + g.inFlight > 0 then return end
    endRound(g, 'COMPLETED')
  end

  function cutRound(g, status, code)
    local t = tenant(g.tenantId)
    t.pending = t.pending - g.pending
    S.pending = S.pending - g.pending
    t.inFlight = t.inFlight - g.inFlight
    if g.lane > 0 then S.laneGroups = S.laneGroups - 1 end
    t.laneJobs = t.laneJobs - g.lane
    S.laneJobs = S.laneJobs - g.lane
    g.lane = 0
    g.odd = 0
    g.cancelled = g.registered - g.success - g.failed
    g.pending = 0
    g.inFlight = 0
    g.nonReady = 0
    g.ready = 0
    g.code = code
    g.graves = g.graves + 1
    redis.call('RPUSH', base .. 'graves', g.round .. ' 0 ' .. g.key)
    endRound(g, status)
    refresh(g)
    endIdleEpochs(t)
  end

  laneKeys = {}

  function openRound(g)
    g.round = g.round + 1
    laneKeys[g] = nil
    g.status = 'RUNNING'
    g.sealed = true
    g.code = nil
    g.endedAt = nil
    g.progressAt = atMs
    local t = tenant(g.tenantId)
    t.open = t.open + 1
    redis.call('ZREM', base .. 'exp', g.key)
    g.expires = nil
  end
end
