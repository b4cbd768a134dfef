-- purpose:   remove what nobody needs any more: jobs of ended rounds, records past their retention, silent instances.
-- guarantee: bounded by `max`; a repeat goes on where the last one stopped.
-- KEYS:      meta
-- ARGV:      settings max instanceKeptMs
-- returns:   {swept, more, nextInMs or -1}
-- cost:      O(max × log n + ready).

-- include: when-full
-- include: place
-- include: letters
-- include: results
local max, instanceKeptMs = tonumber(ARGV[2]), tonumber(ARGV[3])
local LOOK_AGAIN_MS = 1000
local left = max

-- Ready entries of a round that has ended; they are short of a worker, and hold cap slots.
local function sweepReady(g, round)
  if S.readyJobs == 0 then return end
  local entries = redis.call('LRANGE', base .. 'ready', 0, -1)
  local rest, mine = {}, {}
  for n = 1, #entries do
    local job = string.find(entries[n], g.key, 1, true) and readReady(entries[n]) or nil
    if job and job.key == g.key and job.round == round then mine[#mine + 1] = job else rest[#rest + 1] = entries[n] end
  end
  if #mine == 0 then return end
  redis.call('DEL', base .. 'ready')
  for from = 1, #rest, 1000 do
    redis.call('RPUSH', base .. 'ready', unpack(rest, from, math.min(from + 999, #rest)))
  end
  for n = 1, #mine do
    leaveReady(g, mine[n])
    bury(g, mine[n], true, 0)
  end
  readyChanged()
end

local function sweepJob(g, id, round)
  local r = recordOf(g.key, id)
  if not r or r.k or r.rd ~= round then return end
  local place, _, scheduled = placeOf(g, id, r)
  if place == 'LANE' then
    bury(g, {key = g.key, id = id}, false)
  elseif place == 'NON_READY' then
    leaveNonReady(g, g.key .. '/' .. id, reasonOf(g, id, scheduled), false)
    bury(g, {key = g.key, id = id}, false)
  end
end

while left > 0 do
  local grave = redis.call('LINDEX', base .. 'graves', 0)
  if not grave then break end
  local round, at, key = string.match(grave, '^(%d+) (%d+) (.+)$')
  round, at = tonumber(round), tonumber(at)
  local g = group(key)
  local done, looked = true, 0
  if g then
    if at == 0 then
      sweepReady(g, round)
      redis.call('UNLINK', base .. 'l:' .. key .. ':' .. round)
    end
    local ids = redis.call('LRANGE', base .. 'o:' .. key, at, at + left - 1)
    for n = 1, #ids do sweepJob(g, ids[n], round) end
    looked = #ids
    at = at + looked
    done = at >= redis.call('LLEN', base .. 'o:' .. key)
    if done then g.graves = g.graves - 1 end
  end
  -- A round without jobs is a step too: there may be any number of them.
  left = left - math.max(1, looked)
  if done then
    redis.call('LPOP', base .. 'graves')
  else
    redis.call('LSET', base .. 'graves', 0, round .. ' ' .. at .. ' ' .. key)
    break
  end
end

local function removeGroup(g)
  local key, t = g.key, tenant(g.tenantId)
  redis.call('ZREM', base .. 'groups', key)
  redis.call('ZREM', base .. 'ns:' .. tenantNameOf(key), key)
  redis.call('ZREM', base .. 'parked', 'g:' .. key)
  redis.call('HDEL', groupsKey, key)
  redis.call('UNLINK', base .. 'g:' .. key, base .. 'fc:' .. key, base .. 'fj:' .. key, base .. 'r:' .. key, base .. 'rs:' .. key,
    base .. 'rn:' .. key)
  groups[key] = false
  t.records = t.records - 1
  if t.own == key then setOwn(t, false) end
  if t.records > 0 or t.configured or t.held > 0 then return end
  redis.call('ZREM', base .. 'parked', 't:' .. t.id)
  redis.call('SREM', base .. 'tenants', t.id)
  redis.call('HDEL', tenantsKey, t.id)
  Lines.drop(t)
  tenants[t.id] = false
end

-- Ends that lie further ahead than any retention: the clock was set back since.
local longestMs = math.max(C.jobRetentionMs, C.resultRetentionMs)
local farMs = math.max(longestMs, LOOK_AGAIN_MS)
local far = redis.call('ZRANGEBYSCORE', base .. 'exp', atMs + farMs + 1, '+inf', 'LIMIT', 0, 100)
for n = 1, #far do
  local g = group(far[n])
  if g and g.endedAt then
    g.endedAt = atMs
    expireAt(g, atMs + C.jobRetentionMs)
  end
end

while left > 0 do
  local first = redis.call('ZRANGE', base .. 'exp', 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > atMs then break end
  left = left - 1
  local key = first[1]
  local g = group(key)
  redis.call('ZREM', base .. 'exp', key)
  if g then g.expires = nil end
  if g and hasEnded(g.status) then
    if g.held > 0 or g.graves > 0 then
      expireAt(g, atMs + LOOK_AGAIN_MS)
    else
      redis.call('UNLINK', base .. 'j:' .. key, base .. 's:' .. key, base .. 'o:' .. key)
      forgetResults(g)
      local goneMs = g.endedAt + longestMs
      if goneMs > atMs then expireAt(g, goneMs) elseif g.dead == 0 then removeGroup(g) end
    end
  end
end

while left > 0 do
  local first = redis.call('ZRANGE', base .. 'dl', 0, 0)[1]
  if not first then break end
  local letter = letterOf(first)
  if letter and atMs - letter.fa < C.deadLetterRetentionMs then break end
  left = left - 1
  if letter then
    removeLetter(letter)
  else
    -- Nobody can read it any more, and it must not stand before all others for ever.
    keepCorrupt('letter ' .. first, redis.call('HGET', base .. 'dlr', first) or '')
    redis.call('HDEL', base .. 'dlr', first)
    redis.call('ZREM', base .. 'dl', first)
  end
end

local silent = redis.call('ZRANGEBYSCORE', base .. 'instances', '-inf', '(' .. (atMs - instanceKeptMs), 'LIMIT', 0, 100)
for n = 1, #silent do
  redis.call('ZREM', base .. 'instances', silent[n])
  redis.call('UNLINK', base .. 'i:' .. silent[n])
end
local next = redis.call('ZRANGE', base .. 'exp', 0, 0, 'WITHSCORES')
save()
return {max - left, left <= 0 and 1 or 0, next[2] and math.max(0, math.ceil(tonumber(next[2]) - atMs)) or -1}
