-- purpose:   the end of a round: by its last job, or cut short; as src/memory/ending.ts.
-- guarantee: the status changes together with the result; cutting a round is O(1) however many jobs it has.
-- defines:   completeIfDone(g), cutRound(g, status, code), endRound(g, status, data, message), resumeRound(g), openRound(g),
--            expireAt(g, ms).
-- cost:      O(1), and the failed jobs that a result lists.

-- include: fair
-- include: watched
-- include: forgetting
local expireAt, completeIfDone, cutRound, openRound, endRound, resumeRound
do
  function expireAt(g, ms)
    g.expires = ms
    redis.call('ZADD', base .. 'exp', ms, g.key)
  end

  -- What settlements have left for the result, besides their data.
  local function gatheredJson(g)
    local text = g.rx > 0 and string.format(',"resultsDropped":%d', g.rx) or ''
    if not g.nums then return text end
    local fields = redis.call('HGETALL', base .. 'rn:' .. g.key)
    local list = {}
    for n = 1, #fields, 2 do
      local count, sum, min, max = string.match(fields[n + 1], '^(%S+) (%S+) (%S+) (%S+)$')
      list[#list + 1] = string.format('%s:{"count":%s,"sum":%s,"min":%s,"max":%s}', cjson.encode(fields[n]), count, sum, min, max)
    end
    return text .. ',"numbers":{' .. table.concat(list, ',') .. '}'
  end

  -- The raw numbers of a round; the adapter makes the result of them.
  local function keepResult(g, data, message)
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
      .. (message and ',"message":' .. cjson.encode(message) or '') .. (data and ',"data":' .. data or '') .. gatheredJson(g)
      .. (g.startedAt and ',"startedAt":' .. string.format('%d', g.startedAt) or '') .. ',' .. numbers
      .. ',"buckets":{' .. table.concat(buckets, ',') .. '},"failedByCode":{' .. table.concat(byCode, ',')
      .. '},"failedJobs":[' .. table.concat(redis.call('LRANGE', base .. 'fj:' .. g.key, 0, -1), ',') .. ']}'
    redis.call('HSET', base .. 'r:' .. g.key, g.round, text)
  end

  local function beginAggregation(g)
    g.status = 'AGGREGATING'
    g.agg = {since = atMs, free = atMs, ms = 0, fails = 0}
    redis.call('ZADD', base .. 'agg', atMs, g.key)
    ring('aggregate')
  end

  local function endAggregation(g)
    if not g.agg then return end
    if g.agg.token then redis.call('HDEL', base .. 'aggt', g.agg.token) end
    redis.call('ZREM', base .. 'agg', g.key)
    g.agg = nil
  end

  -- A failed job is pending again before the results were added up: the round goes on.
  function resumeRound(g)
    endAggregation(g)
    g.status = 'RUNNING'
  end

  -- `data` (JSON) and `message` are what an aggregation adds.
  function endRound(g, status, data, message)
    endAggregation(g)
    g.status = status
    g.endedAt = atMs
    local t = tenant(g.tenantId)
    t.open = t.open - 1
    redis.call('ZREM', base .. 'watch', g.key)
    if g.paused then g.paused = nil end
    forgetSlowness(g)
    keepResult(g, data, message)
    expireAt(g, atMs + C.jobRetentionMs)
    tell(status == 'COMPLETED' and 'group.completed' or 'group.failed', g)
  end

  -- The one done-test, run by seal and by every settlement.
  function completeIfDone(g)
    if not g.sealed or hasEnded(g.status) or g.status == 'AGGREGATING' then return end
    if g.pending + g.inFlight > 0 then return end
    if g.types then beginAggregation(g) else endRound(g, 'COMPLETED') end
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

  function openRound(g)
    g.round = g.round + 1
    laneKeys[g] = nil
    g.status = 'RUNNING'
    g.sealed = true
    g.code = nil
    g.aggd = nil
    g.endedAt = nil
    g.progressAt = atMs
    watchGroup(g, timeoutOf(g))
    local t = tenant(g.tenantId)
    t.open = t.open + 1
    redis.call('ZREM', base .. 'exp', g.key)
    g.expires = nil
  end
end
