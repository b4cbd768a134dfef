-- purpose:   close the queue for all processes and wake those who wait, on either side.
-- guarantee: repeatable; what is in the queue stays and can be taken.
-- KEYS:      meta wake room
-- ARGV:      layout
-- returns:   {'closed'} | {'layout', found}
-- cost:      O(1).

-- include: mark

local meta, wake, room = unpack(KEYS)
local layout = tonumber(ARGV[1])

local found = redis.call('HGET', meta, 'layout')
if found and tonumber(found) > layout then return {'layout', tonumber(found)} end
redis.call('HSET', meta, 'closed', 1)
if not found then redis.call('HSET', meta, 'layout', layout) end
mark(wake, 1)
mark(room, 1)
return {'closed'}
