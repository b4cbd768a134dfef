-- purpose:   the locks on the results of groups, as src/memory/aggregations.ts.
-- guarantee: a lock belongs to one token; the token index has exactly the tokens that hold or last held one.
-- defines:   takeAggregation(g, token, ttlMs), freeAggregationIn(g, ms), heldAggregation(key, round, token),
--            answeredBefore(key, round, token).
-- cost:      O(log aggregations) each.

-- include: moves
local takeAggregation, freeAggregationIn, heldAggregation, answeredBefore
do
  function freeAggregationIn(g, ms)
    g.agg.free = atMs + ms
    -- How far ahead that may lie: further means that the clock was set back since.
    g.agg.ms = ms
    redis.call('ZADD', base .. 'agg', g.agg.free, g.key)
  end

  function takeAggregation(g, token, ttlMs)
    if g.agg.token then redis.call('HDEL', base .. 'aggt', g.agg.token) end
    g.agg.token = token
    redis.call('HSET', base .. 'aggt', token, g.key)
    freeAggregationIn(g, ttlMs)
  end

  -- Also when the lock has expired and nobody has taken it.
  function heldAggregation(key, round, token)
    local g = group(key)
    if g and g.agg and g.round == round and g.agg.token == token then return g end
    return nil
  end

  -- What was answered to this token before, in this round: the answer was lost.
  function answeredBefore(key, round, token)
    local g = group(key)
    local last = g and g.round == round and g.aggd
    return last and last.token == token and last.answer or nil
  end
end
