-- purpose:   report tries; count every job exactly once.
-- guarantee: repeatable: the accepted token gets the first answer again; another one changes nothing. Deletes before it
--            writes, so that it works when memory is full.
-- KEYS:      meta
-- ARGV:      settings settlements...
-- returns:   three letters per settlement: a accepted, s stale, c cancelled, g gone; job status; group status; - for none
-- cost:      O(settlements × log n); 18 to 24 µs for a usual success.

-- include: when-full
-- include: saving
-- include: usual-ends
-- Each settlement is one text, `kind key id token durationMs`; behind that of a failure and a retry stand 6 more values: code
-- message reason delayMs flag signature (reason of a failure: a when it asks for an aggregation). A result is a success that leaves
-- something for its group; behind it stand data flags numbers.
local LETTERS = {accepted = 'a', stale = 's', cancelled = 'c', gone = 'g', CREATED = 'N', DISPATCHED = 'D', RUNNING = 'R',
  AGGREGATING = 'A', COMPLETED = 'C', FAILED = 'F', CANCELLED = 'K', PENDING = 'P'}
local answer = {}
local at = settleUsual(answer, LETTERS)
saveUsual()
if at > #ARGV then
  save()
  return table.concat(answer)
end

-- include: flights
-- include: slowing
-- include: results
-- How many values a settlement takes; a failure and a retry take 7.
local VALUES = {success = 1, result = 4}

local function say(status, jobStatus, groupStatus)
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = LETTERS[status], LETTERS[jobStatus] or '-', LETTERS[groupStatus] or '-'
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
  g.est = meanAfter(g.est or S.est, durationMs)
  S.est = meanAfter(S.est, durationMs)
end

local function succeed(g, job, s, durationMs)
  s.sj = 'COMPLETED'
  g.success = g.success + 1
  finish(g, job, durationMs, true)
  s.sg = g.status
  writeDone(g, job.id, 'C', job, s)
end

local function failForGood(g, job, r, s, durationMs, at)
  s.sj = 'FAILED'
  if ARGV[at + 3] == 'a' then askAggregation(g, job.t) end
  local signature = ARGV[at + 5] == '1' and ARGV[at + 6] or nil
  local letter = fail(g, job, ARGV[at + 1], ARGV[at + 2],
    {durationMs = durationMs, inFlight = true, held = true, r = r, s = s, signature = signature})
  -- The state of the group is known only now.
  s.sg = g.status
  writeDone(g, job.id, signature and 'X' or 'F', r, s)
  if letter then
    local kept = munpack(redis.call('HGET', base .. 'dlr', letter))
    kept.s = s
    redis.call('HSET', base .. 'dlr', letter, mpack(kept))
  end
end

local function tryAgain(g, job, s, durationMs, at)
  local reason, delayMs = ARGV[at + 3], tonumber(ARGV[at + 4])
  keepTry(s, durationMs, ARGV[at + 1], ARGV[at + 2])
  if ARGV[at + 5] == '1' then s.r = s.r + 1 end
  -- What the called service asked for, or -, and a random number.
  local retryAfter, random = string.match(ARGV[at + 6], '^(%S+) (%S+)$')
  if random then
    g.backoff, delayMs = Slowing.noteThrottle(g, job, tonumber(retryAfter), tonumber(random))
  else
    Slowing.noteEnd(g, job, 'retry', ARGV[at + 1], durationMs)
  end
  if reason == 'API_THROTTLED' then
    g.throttled = g.throttled + 1
    if not random then g.backoff = delayMs end
    History.throttled(g)
  end
  s.rs, s.dm = reason, delayMs
  s.sj = 'PENDING'
  g.tried = true
  toNonReady(g, job, reason, delayMs, true, measured(durationMs))
  s.sg = g.status
  redis.call('HSET', base .. 's:' .. g.key, job.id, mpack(s))
end

local function settle(at, kind, key, id, token, durationMs)
  local g = group(key)
  local job = g and flightOf(key, id)
  if not job or job.token ~= token then
    if not g then return say('gone') end
    return repeated(key, id, token)
  end
  leaveFlight(g, job)
  local s = triesOf(job)
  s.st = token
  local live = isLive(g, job.round)
  local succeeded = kind == 'success' or kind == 'result'
  -- What a success needs is in the in-flight entry.
  local r = not (live and succeeded) and recordOf(key, id)
  if r == nil then
    endTurn(g, job, measured(durationMs))
    return say('gone')
  end
  if not live then
    s.sc = 1
    writeDone(g, id, 'K', r, s)
    endTurn(g, job, measured(atMs - job.since))
    return say('cancelled')
  end
  learnDuration(g, durationMs)
  if succeeded then
    Slowing.noteEnd(g, job, 'success', nil, durationMs)
    if kind == 'result' then gather(g, job, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]) end
    succeed(g, job, s, durationMs)
  elseif kind == 'failure' then
    Slowing.noteEnd(g, job, 'failure', ARGV[at + 1], durationMs)
    failForGood(g, job, r, s, durationMs, at)
  else
    tryAgain(g, job, s, durationMs, at)
  end
  return say('accepted', s.sj, s.sg)
end

while at <= #ARGV do
  local kind, key, id, token, durationMs = string.match(ARGV[at], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  settle(at, kind, key, id, tonumber(token), math.max(0, tonumber(durationMs)))
  at = at + (VALUES[kind] or 7)
end
save()
return table.concat(answer)
