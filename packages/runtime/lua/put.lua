-- purpose:   append entries to the queue, as many as there is room for, in their order.
-- guarantee: repeatable: one client's sequence number inserts once and is answered alike; an older number inserts
--            nothing, however late its copy arrives. Waiting and taken items together never exceed maxSize.
-- KEYS:      items taken meta wake room client
-- ARGV:      layout maxSize clientTtlMs sequence idsAndPayloads...
-- returns:   {'put', accepted, createdAtMs} | {'full', size} | {'closed'} | {'stale'} | {'layout', found}
-- cost:      O(entries); the caller sends at most 100.

-- include: now
-- include: mark

local items, taken, meta, wake, room, client = unpack(KEYS)
local layout, maxSize, clientTtlMs, sequence = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local found, closed = unpack(redis.call('HMGET', meta, 'layout', 'closed'))
if found and tonumber(found) > layout then return {'layout', tonumber(found)} end

local last, accepted, putAt = unpack(redis.call('HMGET', client, 'put', 'accepted', 'putAt'))
if last and tonumber(last) == sequence then return {'put', tonumber(accepted), tonumber(putAt)} end
if last and tonumber(last) > sequence then return {'stale'} end

if closed then
  -- Handed on from process to process: whoever waits for room must hear of it.
  mark(room, 1)
  return {'closed'}
end

local wanted = (#ARGV - 4) / 2
local size = redis.call('LLEN', items) + redis.call('HLEN', taken)
if maxSize > 0 then wanted = math.min(wanted, maxSize - size) end
if wanted <= 0 then return {'full', size} end

local at = now()
local entries = {}
for n = 1, wanted do
  local id, payload = ARGV[3 + 2 * n], ARGV[4 + 2 * n]
  entries[n] = string.format('{"id":"%s","createdAt":%.0f,"payload":', id, at) .. payload .. '}'
end
redis.call('RPUSH', items, unpack(entries))
redis.call('HSET', client, 'put', sequence, 'accepted', wanted, 'putAt', at)
redis.call('PEXPIRE', client, clientTtlMs)
if not found then redis.call('HSET', meta, 'layout', layout) end
mark(wake, 1)
if maxSize > 0 and size + wanted < maxSize then mark(room, 1) end
return {'put', wanted, at}
