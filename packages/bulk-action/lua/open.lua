-- purpose:   open the store: write the layout version, or refuse a newer one.
-- guarantee: a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      layout
-- returns:   the layout that is stored
-- cost:      O(1).
local found = redis.call('HGET', KEYS[1], 'layout')
if not found then redis.call('HSET', KEYS[1], 'layout', ARGV[1]) end
return found or ARGV[1]
