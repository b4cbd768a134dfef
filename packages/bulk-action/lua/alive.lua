-- purpose:   the instances that were heard of lately.
-- guarantee: one that was heard of in the future counts from now on: the clock was set back since.
-- defines:   aliveInstances() → ids, oldest word first; slots() → {live, waiting}.
-- cost:      O(instances).

-- include: settings
local aliveInstances, slotsSeen, slots
do
  local function heardOf()
    return redis.call('ZRANGEBYSCORE', base .. 'instances', '(' .. (atMs - C.instanceTtlMs), '+inf', 'WITHSCORES')
  end

  function aliveInstances()
    local alive, isAhead = heardOf(), false
    for n = #alive, 1, -2 do
      if tonumber(alive[n]) <= atMs then break end
      redis.call('ZADD', base .. 'instances', atMs, alive[n - 1])
      isAhead = true
    end
    return isAhead and heardOf() or alive
  end

  function slots()
    if slotsSeen then return slotsSeen end
    local live, waiting = 0, 0
    local alive = aliveInstances()
    for n = 1, #alive, 2 do
      local numbers = redis.call('HMGET', base .. 'i:' .. alive[n], 'slots', 'waiting')
      live = live + (tonumber(numbers[1]) or 0)
      waiting = waiting + (tonumber(numbers[2]) or 0)
    end
    slotsSeen = {live = live, waiting = waiting}
    return slotsSeen
  end
end
