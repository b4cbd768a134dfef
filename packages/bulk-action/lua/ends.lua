-- purpose:   the ends of a job, as src/memory/moves.ts: it succeeded, failed for good, or its round ended without it.
-- guarantee: a job is counted once, together with its record.
-- defines:   keepTry(s, ms, code, message), finish, writeDone, fail, failCorrupt, failOverdue, bury.
-- cost:      O(log n) each.

-- include: moves
-- include: durations
local keepTry, finish, writeDone, fail, failCorrupt, failOverdue, bury
do
  local TRIES_KEPT = 5
  function keepTry(s, ms, code, message)
    local tries = s.tr or {}
    while #tries >= TRIES_KEPT do table.remove(tries, 1) end
    tries[#tries + 1] = {atMs, ms, code, message}
    s.tr = tries
  end

  local function recordDuration(g, ms)
    redis.call('HINCRBY', base .. 'g:' .. g.key, 'b' .. bucketIndex(ms), 1)
    g.dmin = g.dc == 0 and ms or math.min(g.dmin, ms)
    g.dmax = math.max(g.dmax, ms)
    g.dc = g.dc + 1
    g.ds = g.ds + ms
  end

  -- What every end of a job has in common. The job has left its place and is counted.
  function finish(g, job, durationMs, held)
    g.progressAt = atMs
    if durationMs then recordDuration(g, durationMs) end
    countEvents(g, 1)
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

  -- The record of a job that has ended; the payload only where it is kept.
  function writeDone(g, id, kind, r, s)
    local payload = r.p
    if kind == 'C' or kind == 'K' then r.p = nil end
    redis.call('HSET', base .. 'j:' .. g.key, id, encodeJob(r, kind, s))
    r.p = payload
    if g.tried then redis.call('HDEL', base .. 's:' .. g.key, id) end
  end

  local function failedDetail(id, code, message)
    return cjson.encode({jobId = id, code = code, message = message})
  end

  local function keepDeadLetter(g, job, r, s, code, message, signature)
    S.seq = S.seq + 1
    local letter = mpack({q = S.seq, g = g.key, id = job.id, t = r.t, p = r.p, c = r.c, ch = r.ch, nb = r.nb, dl = r.dl,
      tp = r.tp, x = r.x, at = r.at, s = s, e = message, code = code, sig = signature, fa = atMs})
    redis.call('HSET', base .. 'dlr', S.seq, letter)
    redis.call('ZADD', base .. 'dl', S.seq, S.seq)
    redis.call('ZADD', base .. 'dlg:' .. g.key, S.seq, S.seq)
    redis.call('ZADD', base .. 'dls:' .. redis.sha1hex(signature), S.seq, S.seq)
    g.dead = g.dead + 1
    return S.seq
  end

  -- As src/rules/failure-codes.ts: known codes take one command, new ones two.
  local CODES_MAX = 100
  local function countFailure(g, code)
    local codes = base .. 'fc:' .. g.key
    if redis.call('HINCRBY', codes, code, 1) > 1 or redis.call('HLEN', codes) <= CODES_MAX then return end
    redis.call('HDEL', codes, code)
    redis.call('HINCRBY', codes, 'OTHER_CODES', 1)
  end

  -- For good; `inFlight`: it was being run, so the try counts. `signature`: keep it as a dead letter.
  function fail(g, job, code, message, options)
    local r = options.r or recordOf(g.key, job.id)
    local s = options.s or stateOf(g.key, job.id) or {}
    if options.inFlight then keepTry(s, options.durationMs, code, message) end
    g.failed = g.failed + 1
    countFailure(g, code)
    if redis.call('LLEN', base .. 'fj:' .. g.key) < C.failedDetailsMaxCount then
      redis.call('RPUSH', base .. 'fj:' .. g.key, failedDetail(job.id, code, message))
    end
    local letter
    if options.signature then
      letter = keepDeadLetter(g, job, r, s, code, message, options.signature)
      tell('job.dead', g, job.id)
    end
    finish(g, job, options.inFlight and options.durationMs or nil, options.held)
    writeDone(g, job.id, options.signature and 'X' or 'F', r, s)
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
  function failCorrupt(g, job, r, held)
    keepCorrupt(g.key .. '/' .. job.id, r.corrupt)
    fail(g, job, 'RECORD_CORRUPTED', 'The record of the job is damaged', {durationMs = 0, held = held, r = r, s = {}})
  end

  -- A job whose deadline has passed before it could start; it has left its place.
  function failOverdue(g, job, held)
    local message = 'The deadline ' .. isoDate(deadlineOf(g, job)) .. ' has passed'
    fail(g, job, 'DEADLINE_EXCEEDED', message, {durationMs = 0, held = held})
  end

  -- The end of a job whose round ended without it: counted there already. It has left its place.
  function bury(g, job, held, real, s)
    local r = recordOf(g.key, job.id)
    if r and not r.k then writeDone(g, job.id, 'K', r, s or stateOf(g.key, job.id) or {}) end
    if held then endTurn(g, job, real) end
  end
end
