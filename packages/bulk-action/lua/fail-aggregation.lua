-- purpose:   count a failure to add up the results of a group: again after a pause, or FAILED with its counters kept.
-- guarantee: one failure per token; the same token again gets the same answer.
-- KEYS:      meta
-- ARGV:      settings key round token message retries pauseMs
-- returns:   again | failed | lost
-- cost:      O(log aggregations), and the failed jobs that the result lists.

-- include: when-full
-- include: aggregating
local key, round, token, message = ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local retries, pauseMs = tonumber(ARGV[6]), tonumber(ARGV[7])
local g = heldAggregation(key, round, token)
if not g then
  local before = answeredBefore(key, round, token)
  return before ~= 'done' and before or 'lost'
end
g.agg.fails = g.agg.fails + 1
local answer = 'again'
if g.agg.fails > retries then
  answer = 'failed'
  g.code = 'AGGREGATION_FAILED'
  endRound(g, 'FAILED', nil, message)
else
  g.agg.token = nil
  redis.call('HDEL', base .. 'aggt', token)
  freeAggregationIn(g, g.agg.fails * pauseMs)
end
g.aggd = {token = token, answer = answer}
save()
return answer
