-- purpose:   open the store: write the version of its layout and the number of shards, or tell what is stored.
-- guarantee: what is stored stays; a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      layout shards
-- returns:   {layout, shards}
-- cost:      O(1).
local found = redis.call('HMGET', KEYS[1], 'layout', 'shards')
if not found[1] then redis.call('HSET', KEYS[1], 'layout', ARGV[1]) end
-- Data from before there were shards is that of one.
local shards = found[2] or (found[1] and '1') or ARGV[2]
if not found[2] then redis.call('HSET', KEYS[1], 'shards', shards) end
return {found[1] or ARGV[1], shards}
