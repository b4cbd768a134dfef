-- purpose:   move the oldest items into the hands of one client, under a lease, and bring back what expired.
-- guarantee: repeatable: one client's sequence number takes once, and a repeat answers with what of it is still its
--            own. An item is in the list or in `taken`, never in neither. Expired items go back to the head in their
--            order; a lease further ahead than the longest in use is cut to that, so a clock that jumped freezes nothing.
-- KEYS:      items taken leases meta wake client
-- ARGV:      layout leaseMs clientTtlMs owner sequence count
-- returns:   {'taken', id, entry, id, entry, …} | {'empty', nextInMs or -1, closed} | {'drained'} | {'stale'} | {'layout', found}
-- cost:      O(count + 200): at most 100 leases are brought back and 100 cut per call.

-- include: now
-- include: mark

local items, taken, leases, meta, wake, client = unpack(KEYS)
local layout, leaseMs, clientTtlMs = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local owner, sequence, count = ARGV[4], tonumber(ARGV[5]), ARGV[6]
local LEASES_PER_CALL = 100

local found, closed, leaseMaxMs = unpack(redis.call('HMGET', meta, 'layout', 'closed', 'leaseMaxMs'))
if found and tonumber(found) > layout then return {'layout', tonumber(found)} end
local longestMs = math.max(leaseMs, tonumber(leaseMaxMs or 0))

local function entryOf(value)
  return string.sub(value, string.find(value, ' ', 1, true) + 1)
end

local last, takenIds = unpack(redis.call('HMGET', client, 'take', 'takenIds'))
if last and tonumber(last) > sequence then return {'stale'} end
if last and tonumber(last) == sequence then
  local answer = {'taken'}
  for id in string.gmatch(takenIds, '%S+') do
    local value = redis.call('HGET', taken, id)
    if value and string.sub(value, 1, #owner + 1) == owner .. ' ' then
      answer[#answer + 1] = id
      answer[#answer + 1] = entryOf(value)
    end
  end
  return answer
end

local at = now()
-- Removed before anything is added, here and below: a script that has freed memory may write when it is full.
local expired = redis.call('ZRANGEBYSCORE', leases, '-inf', at, 'LIMIT', 0, LEASES_PER_CALL)
for n = #expired, 1, -1 do
  local value = redis.call('HGET', taken, expired[n])
  redis.call('ZREM', leases, expired[n])
  redis.call('HDEL', taken, expired[n])
  if value then redis.call('LPUSH', items, entryOf(value)) end
end
local farOff = redis.call('ZRANGEBYSCORE', leases, at + longestMs + 1, '+inf', 'LIMIT', 0, LEASES_PER_CALL)
for n = 1, #farOff do
  redis.call('ZREM', leases, farOff[n])
  redis.call('ZADD', leases, at + longestMs, farOff[n])
end

local entries = redis.call('LPOP', items, count)
if not entries then
  if closed and redis.call('HLEN', taken) == 0 then
    -- Handed on from process to process: whoever waits for an item must hear of it.
    mark(wake, 1)
    return {'drained'}
  end
  local nearest = redis.call('ZRANGE', leases, 0, 0, 'WITHSCORES')
  return {'empty', nearest[2] and math.max(1, math.ceil(nearest[2] - at)) or -1, closed and 1 or 0}
end

local answer, ids = {'taken'}, {}
for n, entry in ipairs(entries) do
  -- Something else in the list has no id of ours: it gets one, and the client will set it aside.
  local id = string.match(entry, '^{"id":"([^"%s]+)"') or ('broken:' .. owner .. ':' .. n)
  ids[n] = id
  redis.call('HSET', taken, id, owner .. ' ' .. entry)
  -- The fraction keeps the order of items that are brought back together.
  redis.call('ZADD', leases, at + leaseMs + n / 1000, id)
  answer[2 * n] = id
  answer[2 * n + 1] = entry
end
redis.call('HSET', client, 'take', sequence, 'takenIds', table.concat(ids, ' '))
redis.call('PEXPIRE', client, clientTtlMs)
if leaseMs > tonumber(leaseMaxMs or 0) then redis.call('HSET', meta, 'leaseMaxMs', leaseMs) end
if redis.call('EXISTS', items) == 1 then mark(wake, 1) end
return answer
