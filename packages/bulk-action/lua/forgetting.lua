-- purpose:   forgets how a group was held back, as src/memory/forgetting.ts.
-- guarantee: counters of throttled tries stay.
-- defines:   forgetSlowness(g) → whether there was anything.
-- cost:      O(points).

-- include: records
local forgetSlowness
do
  function forgetSlowness(g)
    if not (g.slow or g.trial or g.pointMs) and g.backoff == 0 then return false end
    if g.pointMs then redis.call('UNLINK', base .. 'gh:' .. g.key) end
    g.slow, g.trial, g.pointMs, g.pointThrottles, g.backoff = nil, nil, nil, nil, 0
    return true
  end
end
