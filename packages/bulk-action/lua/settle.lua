-- purpose:   report tries; count every job exactly once.
-- guarantee: repeatable: the accepted token gets the first answer again; another one changes nothing. Deletes before it
--            writes, so that it works when memory is full.
-- KEYS:      meta
-- ARGV:      settings settlements...
-- returns:   three values per settlement: accepted | stale | cancelled | gone, jobStatus or -, groupStatus or -
-- cost:      O(settlements × log n).

-- include: when-full
-- include: flights
-- Each settlement is 11 values: key id token durationMs kind code message reason delayMs flag signature.
local STEP = 11
local answer = {}

local function say(status, jobStatus, groupStatus)
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = status, jobStatus or '-', groupStatus or '-'
end

-- The answer to a token that was accepted before, from the record of a done job or the state of a waiting one.
local function repeated(key, id, token)
  local r = recordOf(key, id)
  if not r then return say('gone') end
  local s = r.k and r.s or stateOf(key, id)
  if s and s.st == token then
    if s.sc then return say('cancelled') end
    return say('accepted', s.sj, s.sg)
  end
  return say('stale')
end

local function learnDuration(g, durationMs)
  local before = g.est or S.est
  g.est = before + 0.2 * (math.max(1, durationMs) - before)
  S.est = S.est + 0.2 * (math.max(1, durationMs) - S.est)
end

local function settle(at)
  local key, id, token = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local durationMs, kind = math.max(0, tonumber(ARGV[at + 3])), ARGV[at + 4]
  local code, message = ARGV[at + 5], ARGV[at + 6]
  local g = group(key)
  local job = g and flightOf(key, id)
  if not job or job.token ~= token then
    if not g then return say('gone') end
    return repeated(key, id, token)
  end
  leaveFlight(g, job)
  local s = triesOf(job)
  s.st = token
  local r = recordOf(key, id)
  if not r then
    endTurn(g, job, measured(durationMs))
    return say('gone')
  end
  if not isLive(g, job.round) then
    s.sc = 1
    writeDone(g, id, 'K', r, s)
    endTurn(g, job, measured(atMs - job.since))
    return say('cancelled')
  end
  learnDuration(g, durationMs)
  if kind == 'success' then
    s.sj = 'COMPLETED'
    finish(g, job, durationMs, true, function() g.success = g.success + 1 end)
    s.sg = g.status
    writeDone(g, id, 'C', r, s)
  elseif kind == 'failure' then
    s.sj = 'FAILED'
    local signature = ARGV[at + 9] == '1' and ARGV[at + 10] or nil
    local letter = fail(g, job, code, message,
      {durationMs = durationMs, inFlight = true, held = true, r = r, s = s, signature = signature})
    -- The state of the group is known only now.
    s.sg = g.status
    writeDone(g, id, signature and 'X' or 'F', r, s)
    if letter then
      local kept = munpack(redis.call('HGET', base .. 'dlr', letter))
      kept.s = s
      redis.call('HSET', base .. 'dlr', letter, mpack(kept))
    end
  else
    local reason, delayMs = ARGV[at + 7], tonumber(ARGV[at + 8])
    keepTry(s, durationMs, code, message)
    if ARGV[at + 9] == '1' then s.r = s.r + 1 end
    if reason == 'API_THROTTLED' then
      g.throttled = g.throttled + 1
      g.backoff = delayMs
    end
    s.rs, s.dm = reason, delayMs
    s.sj = 'PENDING'
    g.tried = 1
    toNonReady(g, job, reason, delayMs, true, measured(durationMs))
    s.sg = g.status
    redis.call('HSET', base .. 's:' .. key, id, mpack(s))
  end
  return say('accepted', s.sj, s.sg)
end

for at = 2, #ARGV, STEP do settle(at) end
save()
return answer
