-- purpose:   lets a script that only moves, counts or frees things write when memory is full.
-- guarantee: Redis refuses a script at its first write only if that write may take memory: this one never does.
-- defines:   nothing.
-- cost:      O(1).

-- include: settings
redis.call('HDEL', KEYS[1], '-')
