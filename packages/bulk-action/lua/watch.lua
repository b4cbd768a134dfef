-- purpose:   end groups that make no progress any more and groups past their deadline, and call for aggregations that nobody has
--            taken up; as src/memory/watch.ts.
-- guarantee: O(1) for each group however many jobs it has; a repeat finds them ended. Bounded by `max`.
-- KEYS:      meta
-- ARGV:      settings max
-- returns:   {looked, more, nextInMs or -1, key, code, traceparent, …}
-- cost:      O(max × log groups), and the failed jobs that the results list.

-- include: when-full
-- include: moves
local max, FAR_PER_CALL = tonumber(ARGV[2]), 100
local reply, looked, changed = {0, 0, -1}, 0, false

-- The farthest first: those that a clock has left there when it was set back. Reconciliation finds the others in time.
local far = redis.call('ZREVRANGEBYSCORE', base .. 'watch', '+inf', atMs + C.groupTimeoutMs + 1, 'LIMIT', 0, FAR_PER_CALL)
for n = 1, #far do
  local g = group(far[n])
  if g and isAhead(g) then
    watchGroup(g, timeoutOf(g))
    changed = true
  end
end

local function due()
  local first = redis.call('ZRANGE', base .. 'watch', 0, 0, 'WITHSCORES')
  return first[1], tonumber(first[2])
end

local key, lookMs = due()
while key and lookMs <= atMs and looked < max do
  looked = looked + 1
  local g = group(key)
  if not g or hasEnded(g.status) then
    redis.call('ZREM', base .. 'watch', key)
  else
    local timeoutMs = timeoutOf(g)
    local code = overdueCode(g, timeoutMs)
    if code then
      cutRound(g, 'FAILED', code)
      reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = key, code, g.trace or ''
    else
      watchGroup(g, timeoutMs)
    end
    changed = true
  end
  key, lookMs = due()
end

-- An aggregation that nobody has taken up for so long: whoever was told of it is gone.
local free = redis.call('ZRANGE', base .. 'agg', 0, 0, 'WITHSCORES')
local waiting = free[1] and tonumber(free[2]) <= atMs and group(free[1])
if waiting and waiting.agg and atMs - waiting.agg.since >= C.staleGroupThresholdMs then
  ring('aggregate')
  changed = true
end
if changed then save() end
reply[1] = looked
if key then reply[2], reply[3] = lookMs <= atMs and 1 or 0, math.max(0, math.ceil(lookMs - atMs)) end
return reply
