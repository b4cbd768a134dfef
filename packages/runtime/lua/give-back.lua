-- purpose:   return delivered items to the head: the callers they were meant for gave up in the last moment.
-- guarantee: repeatable: one client's sequence number returns once and is answered alike. As many as there is room
--            for, the oldest first; also when the queue is closed, since they were accepted before.
-- KEYS:      items taken wake client
-- ARGV:      maxSize clientTtlMs sequence entries...
-- returns:   how many were returned
-- cost:      O(entries); at most 100, as many as one take gives.

-- include: mark

local items, taken, wake, client = unpack(KEYS)
local maxSize, clientTtlMs, sequence = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local last, returned = unpack(redis.call('HMGET', client, 'giveBack', 'returned'))
if last and tonumber(last) == sequence then return tonumber(returned) end
if last and tonumber(last) > sequence then return 0 end

local count = #ARGV - 3
if maxSize > 0 then
  count = math.min(count, maxSize - redis.call('LLEN', items) - redis.call('HLEN', taken))
end
if count <= 0 then return 0 end
for n = 3 + count, 4, -1 do redis.call('LPUSH', items, ARGV[n]) end
redis.call('HSET', client, 'giveBack', sequence, 'returned', count)
redis.call('PEXPIRE', client, clientTtlMs)
mark(wake, 1)
return count
