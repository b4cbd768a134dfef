-- purpose:   an instance says that it goes.
-- guarantee: a repeat changes nothing.
-- KEYS:      meta
-- ARGV:      settings instanceId
-- returns:   1
-- cost:      O(log instances).

-- include: when-full
-- include: settings
redis.call('ZREM', base .. 'instances', ARGV[2])
redis.call('UNLINK', base .. 'i:' .. ARGV[2])
return 1
