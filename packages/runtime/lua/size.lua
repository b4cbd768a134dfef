-- purpose:   how many items wait, and whether the queue is closed.
-- guarantee: writes nothing.
-- KEYS:      items meta
-- ARGV:      layout
-- returns:   {'size', waiting, closed} | {'layout', found}
-- cost:      O(1).

local items, meta = unpack(KEYS)
local layout = tonumber(ARGV[1])

local found, closed = unpack(redis.call('HMGET', meta, 'layout', 'closed'))
if found and tonumber(found) > layout then return {'layout', tonumber(found)} end
return {'size', redis.call('LLEN', items), closed and 1 or 0}
