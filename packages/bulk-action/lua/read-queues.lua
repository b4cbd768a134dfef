-- purpose:   how full the queues are.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings
-- returns:   JSON of a QueuesView
-- cost:      O(parked + instances).

-- include: json
local parkedGroups = 0
for _, name in ipairs(redis.call('ZRANGE', base .. 'parked', 0, -1)) do
  if string.sub(name, 1, 1) == 'g' then parkedGroups = parkedGroups + 1 end
end
local list, reasons = {}, {}
for _, name in ipairs({'RATE_LIMITED', 'API_THROTTLED', 'TRANSIENT_ERROR', 'SCHEDULED', 'NO_PROCESSOR', 'ORPHANED'}) do
  put(reasons, name, S[name])
end
put(list, 'tenants', redis.call('SCARD', base .. 'tenants'))
put(list, 'groups', S.laneGroups)
put(list, 'parkedGroups', parkedGroups)
put(list, 'lane', S.laneJobs)
put(list, 'ready', S.readyJobs)
put(list, 'readyBound', readyBound())
put(list, 'nonReady', redis.call('ZCARD', base .. 'nr') + redis.call('ZCARD', base .. 'sched'))
list[#list + 1] = '"nonReadyByReason":' .. object(reasons)
put(list, 'inFlight', redis.call('ZCARD', base .. 'fz'))
put(list, 'deadLetters', redis.call('ZCARD', base .. 'dl'))
put(list, 'liveSlots', slots().live)
put(list, 'waitingSlots', slots().waiting)
put(list, 'startsPerSecond', ratePerSecond(S))
return object(list)
