-- purpose:   take expired leases away: to non-ready with back-off, past maxOrphanCount to the dead letters.
-- guarantee: the token of a lease that was taken away changes nothing any more. A lease further ahead than its longest time
--            is cut to that, so a clock that was set back freezes nothing.
-- KEYS:      meta
-- ARGV:      settings orphanedMessage orphanedSignature randoms...
-- returns:   {recovered, more, name and traceparent of dead…}
-- cost:      O(randoms × log n).

-- include: when-full
-- include: waiting
-- include: flights
local far = redis.call('ZRANGEBYSCORE', base .. 'fz', atMs + C.ackTimeoutMs + 1, '+inf', 'LIMIT', 0, FAR_PER_CALL)
for n = 1, #far do redis.call('ZADD', base .. 'fz', atMs + C.ackTimeoutMs, far[n]) end
clampFarOff()

local function backoffMs(count, random)
  local delay = math.min(C.maxBackoffMs, C.defaultBackoffMs)
  for _ = 1, count - 1 do
    if delay <= 0 or delay >= C.maxBackoffMs then break end
    delay = math.min(C.maxBackoffMs, delay * 2)
  end
  return math.floor(delay * (1 - 0.5 * random))
end

local dead, max = {}, #ARGV - 3
local expired = redis.call('ZRANGEBYSCORE', base .. 'fz', '-inf', atMs, 'LIMIT', 0, max + 1)
local recovered = math.min(max, #expired)
for n = 1, recovered do
  local name = expired[n]
  local key, id = splitName(name)
  local g = group(key)
  local r = g and recordOf(key, id)
  local job = flightOf(key, id) or (r and damagedFlight(key, id, r))
  if not g or not job then
    dropFlight(name)
  else
    leaveFlight(g, job)
    local s = triesOf(job)
    local ranMs = atMs - job.since
    if r and r.corrupt and isLive(g, job.round) then
      failCorrupt(g, job, r, true)
    elseif not r or not isLive(g, job.round) then
      bury(g, job, true, measured(ranMs), s)
    else
      s.o = s.o + 1
      local message = string.gsub(ARGV[2], '{count}', tostring(s.o))
      if s.o > C.maxOrphanCount then
        dead[#dead + 1], dead[#dead + 2] = name, r.tp or g.trace or ''
        fail(g, job, 'ORPHANED', message, {durationMs = ranMs, inFlight = true, held = true, r = r, s = s,
          signature = string.gsub(string.sub(r.t, 1, 80), '%s+', ' ') .. ' ' .. ARGV[3]})
      else
        keepTry(s, ranMs, 'ORPHANED', message)
        local delayMs = backoffMs(s.o, tonumber(ARGV[n + 3]))
        s.rs, s.dm = 'ORPHANED', delayMs
        g.tried = true
        toNonReady(g, job, 'ORPHANED', delayMs, true, measured(ranMs))
        redis.call('HSET', base .. 's:' .. key, id, mpack(s))
      end
    end
  end
end
save()
local reply = {recovered, #expired > max and 1 or 0}
for n = 1, #dead do reply[#reply + 1] = dead[n] end
return reply
