-- purpose:   what views look like on their way out: JSON, made here so that one step reads all of it.
-- guarantee: reads only. Numbers with a fraction keep all their digits.
-- defines:   number(value), statusOf(g, r, place), groupJson(g), jobJson(g, id, r, withPayload), tenantJson(t), triesJson(tries).
-- cost:      O(1) each.

-- include: place
-- include: flights
local number, object, put, statusOf, groupJson, jobJson, tenantJson, triesJson
do
  local encode = cjson.encode

  function number(value)
    return string.format('%.17g', value)
  end

  function object(pairsList)
    return '{' .. table.concat(pairsList, ',') .. '}'
  end

  function put(list, name, value)
    if value == nil then return end
    list[#list + 1] = '"' .. name .. '":' .. (type(value) == 'number' and number(value) or encode(value))
  end

  local function putLimits(list, scope)
    put(list, 'rps', scope.rps)
    put(list, 'burst', scope.burst)
    put(list, 'concurrency', scope.concurrency)
  end

  function groupJson(g)
    local cold = redis.call('HMGET', base .. 'g:' .. g.key, 'tenant', 'createdAt', 'timeoutMs')
    local list = {}
    put(list, 'id', groupIdOf(g.key))
    put(list, 'tenant', cold[1])
    put(list, 'tenantId', g.tenantId)
    put(list, 'weight', g.weight)
    put(list, 'priorityLevel', g.level or 'normal')
    putLimits(list, g)
    put(list, 'timeoutMs', tonumber(cold[3]))
    put(list, 'deadline', g.deadline)
    put(list, 'traceparent', g.trace or '')
    put(list, 'status', g.status)
    put(list, 'sealed', g.sealed)
    put(list, 'paused', g.paused ~= nil)
    put(list, 'round', g.round)
    put(list, 'createdAt', tonumber(cold[2]))
    put(list, 'startedAt', g.startedAt)
    put(list, 'endedAt', g.endedAt)
    put(list, 'progressAt', g.progressAt)
    local counts = {}
    for _, name in ipairs({'registered', 'success', 'failed', 'cancelled', 'pending', 'inFlight', 'nonReady', 'ready'}) do
      put(counts, name, g[name])
    end
    list[#list + 1] = '"counts":' .. object(counts)
    put(list, 'settledPerSecond', ratePerSecond(g))
    put(list, 'throttled', g.throttled)
    put(list, 'rateDenied', g.denied)
    put(list, 'lastBackoffMs', g.backoff)
    return object(list)
  end

  function triesJson(tries)
    local list = {}
    for n, one in ipairs(tries or {}) do
      list[n] = '{"at":' .. number(one[1]) .. ',"ms":' .. number(one[2]) .. ',"code":' .. encode(one[3]) .. ',"message":'
        .. encode(one[4]) .. '}'
    end
    return '[' .. table.concat(list, ',') .. ']'
  end

  local DONE_STATUS = {C = 'COMPLETED', F = 'FAILED', X = 'FAILED', K = 'CANCELLED'}

  function statusOf(g, r, place)
    if r.k then return DONE_STATUS[r.k] end
    if not isLive(g, r.rd) then return 'CANCELLED' end
    return place == 'IN_FLIGHT' and 'PROCESSING' or 'PENDING'
  end

  -- The payload travels as text: the adapter reads it once.
  function jobJson(g, id, r, withPayload)
    local place, dueMs, scheduled, readyAt = placeOf(g, id, r)
    local s = (r.k and r.s) or stateOf(g.key, id) or {}
    if place == 'IN_FLIGHT' then
      local f = flightOf(g.key, id)
      s.r, s.o, s.a, s.sa = f.retry, f.orphan, f.attempts, f.since
    end
    local list = {}
    put(list, 'id', id)
    put(list, 'groupId', groupIdOf(g.key))
    put(list, 'tenant', tenantNameOf(g.key))
    put(list, 'processorType', r.t)
    if withPayload and r.p then put(list, 'payloadText', r.p) end
    put(list, 'status', statusOf(g, r, place))
    put(list, 'place', place)
    put(list, 'retryCount', s.r or 0)
    put(list, 'orphanCount', s.o or 0)
    put(list, 'attempts', s.a or 0)
    put(list, 'cost', r.c)
    put(list, 'createdAt', r.at)
    put(list, 'notBefore', r.nb)
    put(list, 'deadline', r.dl)
    put(list, 'startedAt', s.sa)
    put(list, 'endedAt', r.ea)
    if place == 'NON_READY' then
      put(list, 'dueAt', dueMs)
      put(list, 'reason', reasonOf(g, id, scheduled))
    end
    list[#list + 1] = '"failedTries":' .. triesJson(s.tr)
    put(list, 'traceparent', r.tp or g.trace or '')
    return object(list), place, dueMs, readyAt
  end

  function tenantJson(t)
    local list = {}
    put(list, 'id', t.id)
    put(list, 'weight', tenantWeight(t))
    putLimits(list, t)
    put(list, 'groups', t.open)
    put(list, 'pending', t.pending)
    put(list, 'inFlight', t.inFlight)
    put(list, 'served', t.served)
    put(list, 'servedPerSecond', ratePerSecond(t))
    return object(list)
  end
end
