-- purpose:   an instance says that it lives, and with how many slots.
-- guarantee: a repeat says it again; its last answer stays.
-- KEYS:      meta
-- ARGV:      settings instanceId startedAt slots waiting types called...
-- returns:   1
-- cost:      O(log instances).

-- include: when-full
-- include: settings
redis.call('HSET', base .. 'i:' .. ARGV[2], 'startedAt', ARGV[3], 'slots', ARGV[4], 'waiting', ARGV[5], 'types', ARGV[6],
  'seen', atMs)
redis.call('ZADD', base .. 'instances', atMs, ARGV[2])
-- Which resource each processor type calls.
if #ARGV > 6 then redis.call('HSET', base .. 'types', unpack(ARGV, 7)) end
return 1
