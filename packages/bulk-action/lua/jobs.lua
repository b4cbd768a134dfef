-- purpose:   the records of jobs as they are stored, and the jobs under a lease.
-- guarantee: a damaged record is {corrupt = value}: the job can still be counted, and somebody may look at what is left of it.
--            Changes of the in-flight entries are written together by `saveFlights`; `flightOf` sees them before.
-- defines:   recordOf(key, id), encodeJob(r, kind, s), readUnusual(job, text), flightOf(key, id), readFlight(key, id, value),
--            isInFlight(name), putFlight(g, job, r), putFirstFlight(name, token, instanceId, ge, te, round, r),
--            stateOf(key, id), flightValueOf(name), encodeSuccess(…), dropFlight(name), saveFlights().
-- cost:      O(1); O(log in-flight) for each change.

-- include: records
local DONE, FLIGHT, readUnusual, encodeJob, encodeSuccess, recordOf, stateOf, readFlight, flightValueOf, flightOf, isInFlight,
  putFlight, putFirstFlight, dropFlight, saveFlights
do
  -- A job is: kind, createdAt, round (JOB); of a done one what is left of its tries; then the body, as the adapter writes it: what is
  -- not usual (cost charge notBefore deadline traceparent), the payload, the processor type, in lines.
  DONE = '<I6I6I6I4I4I4BBBI4'
  local KINDS, KIND_NUMBERS = {'C', 'F', 'X', 'K'}, {C = 1, F = 2, X = 3, K = 4}
  local SUCCESS, COMPLETED = JOB .. sub(DONE, 2), STATUS_NUMBERS.COMPLETED
  FLIGHT = '<I6I6dI4I4I4I4I4I4I6I6BBs'

  function readUnusual(job, text)
    local cost, charge, notBefore, deadline, trace = string.match(text, '^(%S+) (%S+) (%S+) (%S+) (.+)$')
    job.c, job.ch, job.nb, job.dl = tonumber(cost), tonumber(charge), tonumber(notBefore), tonumber(deadline)
    if trace ~= '-' then job.tp = trace end
  end

  local function decodeDone(r, kind, value, from)
    local endedAt, startedAt, token, retry, orphan, attempts, cancelled, jobStatus, groupStatus, length
    endedAt, startedAt, token, retry, orphan, attempts, cancelled, jobStatus, groupStatus, length, from =
      unpacked(DONE, value, from)
    r.k, r.ea = KINDS[kind], endedAt
    r.s = {r = retry, o = orphan, a = attempts, sa = given(startedAt), st = given(token), sc = given(cancelled),
      sj = STATUSES[jobStatus], sg = STATUSES[groupStatus]}
    if length > 0 then r.s.tr = cmsgpack.unpack(sub(value, from, from + length - 1)) end
    return from + length
  end

  local function decodeJob(value)
    local kind, at, round, from = unpacked(JOB, value)
    local r = {at = at, rd = round, c = 1, x = '', t = '', p = ''}
    if kind ~= 0 then from = decodeDone(r, kind, value, from) end
    local first = find(value, '\n', from, true)
    local second = find(value, '\n', first + 1, true)
    r.t = sub(value, second + 1)
    r.p = second > first + 1 and sub(value, first + 1, second - 1) or nil
    if first > from then
      r.x = sub(value, from, first - 1)
      readUnusual(r, r.x)
    end
    return r
  end

  -- `kind` and `s` of a job that has ended: C completed, F failed, X dead, K cancelled.
  function encodeJob(r, kind, s)
    local body = (r.x or '') .. '\n' .. (r.p or '') .. '\n' .. r.t
    if not kind then return pack(JOB, 0, r.at, r.rd) .. body end
    local tries = s.tr and mpack(s.tr) or ''
    return pack(JOB, KIND_NUMBERS[kind], r.at, r.rd) .. pack(DONE, atMs, s.sa or 0, s.st or 0, s.r or 0, s.o or 0, s.a or 0, s.sc or 0,
      STATUS_NUMBERS[s.sj] or 0, STATUS_NUMBERS[s.sg] or 0, #tries) .. tries .. body
  end

  -- Of one that has succeeded without a state of its tries, from what its in-flight entry holds.
  function encodeSuccess(at, round, since, token, retry, orphan, attempts, groupStatus, x, t)
    return pack(SUCCESS, 1, at, round, atMs, since, token, retry, orphan, attempts, 0, COMPLETED, groupStatus, 0) .. x .. '\n\n' .. t
  end

  function recordOf(key, id)
    local value = redis.call('HGET', base .. 'j:' .. key, id)
    if not value then return nil end
    local ok, r = pcall(decodeJob, value)
    if ok then return r end
    local g = group(key)
    return {t = '', c = 1, at = atMs, rd = g and g.round, corrupt = value}
  end

  -- The state of its tries; a job that was never tried has none.
  function stateOf(key, id)
    local value = redis.call('HGET', base .. 's:' .. key, id)
    return value and munpack(value)
  end

  local flightValues, flightEnds = {}, {}
  -- As text once: a number is written anew for each entry.
  local leaseEnd = string.format('%d', atMs + C.ackTimeoutMs)
  local flightsKey = base .. 'fl'

  local function decodeFlight(key, id, value)
    local token, since, charged, ge, te, round, attempts, retry, orphan, at, waiting, tried, suspect, instance, from =
      unpacked(FLIGHT, value)
    local line = find(value, '\n', from, true)
    local second = find(value, '\n', line + 1, true)
    local job = {key = key, id = id, token = token, since = since, charged = charged, ge = ge, te = te, round = round, rd = round,
      attempts = attempts, retry = retry, orphan = orphan, at = at, waiting = given(waiting), tried = tried == 1,
      suspect = suspect == 1, instance = instance, x = '', t = sub(value, line + 1, (second or 0) - 1), cost = 1}
    if line > from then
      job.x = sub(value, from, line - 1)
      readUnusual(job, job.x)
      job.cost, job.charge, job.deadline = job.c, job.ch, job.dl
    end
    if second then
      local called = cmsgpack.unpack(sub(value, second + 1))
      job.resource, job.fe = called[1], called[2]
    end
    return job
  end

  function readFlight(key, id, value)
    local ok, job = pcall(decodeFlight, key, id, value)
    return ok and job or nil
  end

  function flightValueOf(name)
    local value = flightValues[name]
    if value == nil then value = redis.call('HGET', flightsKey, name) end
    return value
  end

  function flightOf(key, id)
    local value = flightValueOf(key .. '/' .. id)
    return value and readFlight(key, id, value)
  end

  function isInFlight(name)
    local value = flightValues[name]
    if value ~= nil then return value ~= false end
    return redis.call('HEXISTS', base .. 'fl', name) == 1
  end

  -- The entry holds what the end of the try needs: a job that succeeded is counted without a look at its record. Of a
  -- first try most numbers are known.
  function putFirstFlight(name, token, instanceId, ge, te, round, r)
    flightValues[name] = pack(FLIGHT, token, atMs, 1, ge, te, round, 1, 0, 0, r.at, 0, 0, 0, instanceId) .. r.x .. '\n' .. r.t
    flightEnds[name] = leaseEnd
    S.flights = S.flights + 1
  end

  function putFlight(g, job, r)
    local name = g.key .. '/' .. job.id
    flightValues[name] = pack(FLIGHT, job.token, job.since, job.charged, job.ge, job.te, job.round, job.attempts, job.retry,
      job.orphan, r.at, job.waiting or 0, job.tried and 1 or 0, job.suspect and 1 or 0, job.instance) .. (r.x or '') .. '\n' .. r.t
      .. (job.resource and '\n' .. mpack({job.resource, job.fe}) or '')
    flightEnds[name] = leaseEnd
    S.flights = S.flights + 1
  end

  function dropFlight(name)
    flightValues[name] = false
    flightEnds[name] = false
    S.flights = math.max(0, S.flights - 1)
  end

  function saveFlights()
    local gone, values, ends = {}, {}, {}
    for name, value in pairs(flightValues) do
      if value then
        values[#values + 1], values[#values + 2] = name, value
      else
        gone[#gone + 1] = name
      end
    end
    for name, untilMs in pairs(flightEnds) do
      if untilMs then ends[#ends + 1], ends[#ends + 2] = untilMs, name end
    end
    if #gone > 0 then
      inPieces('HDEL', base .. 'fl', gone)
      inPieces('ZREM', base .. 'fz', gone)
    end
    if #values > 0 then inPieces('HSET', base .. 'fl', values) end
    if #ends > 0 then inPieces('ZADD', base .. 'fz', ends) end
  end
end
