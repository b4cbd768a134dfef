-- purpose:   the instances that were heard of lately.
-- guarantee: one that was heard of in the future counts from now on: the clock was set back since.
-- defines:   aliveInstances() → ids, oldest word first.
-- cost:      O(instances).

-- include: settings
local function aliveInstances()
  local future = redis.call('ZRANGEBYSCORE', base .. 'instances', '(' .. atMs, '+inf')
  for n = 1, #future do redis.call('ZADD', base .. 'instances', atMs, future[n]) end
  return redis.call('ZRANGEBYSCORE', base .. 'instances', '(' .. (atMs - C.instanceTtlMs), '+inf', 'WITHSCORES')
end
