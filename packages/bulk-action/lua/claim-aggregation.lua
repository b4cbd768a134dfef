-- purpose:   take the lock on the results of a group: of one, or of the one that has been free for longest.
-- guarantee: one token holds a lock until it expires; the same token again gets the same group, while it holds it.
-- KEYS:      meta
-- ARGV:      settings key token ttlMs looksMax any types...
-- returns:   {'claimed', key, round, total, success, failed, startedAt, completedAt, traceparent, types…} | {'none', nextInMs or -1} | {'no'}
-- cost:      O(log n), and the groups passed over for their types, at most looksMax.

-- include: when-full
-- include: aggregating
local key, token, ttlMs, looksMax = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local index = base .. 'agg'
local changed = false

local function claimed(g)
  local types = g.types or {}
  return {'claimed', g.key, g.round, g.registered, g.success, g.failed, g.startedAt or g.agg.since, g.agg.since, g.trace or '',
    unpack(types)}
end

local function none(first)
  return {'none', first and math.max(0, math.ceil(first - atMs)) or -1}
end

-- Further ahead than it was made for: the clock was set back since.
local function clampFarOff()
  local far = redis.call('ZREVRANGEBYSCORE', index, '+inf', '(' .. (atMs + C.lockTtlMs), 'LIMIT', 0, looksMax)
  for n = 1, #far do
    local g = group(far[n])
    if g and g.agg and g.agg.free - atMs > g.agg.ms then
      freeAggregationIn(g, g.agg.ms)
      changed = true
    end
  end
end

local function answer(value)
  if changed then save() end
  return value
end

if key ~= '' then
  local g = group(key)
  if not g or not g.agg then return {'no'} end
  clampFarOff()
  if g.agg.free > atMs and g.agg.token ~= token then return answer(none(g.agg.free)) end
  if g.agg.free <= atMs then
    takeAggregation(g, token, ttlMs)
    changed = true
  end
  return answer(claimed(g))
end

local mine = redis.call('HGET', base .. 'aggt', token)
local held = mine and group(mine)
if held and held.agg and held.agg.free > atMs then return claimed(held) end
clampFarOff()

local mayClaim = {}
for n = 7, #ARGV do mayClaim[ARGV[n]] = true end

local function isMine(g)
  if ARGV[6] == '1' then return true end
  for _, name in ipairs(g.types or {}) do
    if not mayClaim[name] then return false end
  end
  return true
end

local due = redis.call('ZRANGEBYSCORE', index, '-inf', atMs, 'LIMIT', 0, looksMax)
local passed, found = #due, nil
for n = 1, #due do
  local g = group(due[n])
  if g and g.agg and isMine(g) then
    passed, found = n - 1, g
    break
  end
end
-- The first that was neither passed over nor taken.
if found then takeAggregation(found, token, ttlMs) end
local next = redis.call('ZRANGE', index, passed, passed, 'WITHSCORES')
if not found then return answer(none(tonumber(next[2]))) end
-- Handed on from process to process: another one may add up the next at the same time.
if next[2] and tonumber(next[2]) <= atMs then ring('aggregate') end
save()
return claimed(found)
