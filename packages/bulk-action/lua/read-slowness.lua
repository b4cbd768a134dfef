-- purpose:   how a group is held back.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key
-- returns:   JSON of a GroupSlowness with its points as lists | nil
-- cost:      O(points).

-- include: json
-- include: history
local g = group(ARGV[2])
if not g or hasEnded(g.status) then return false end
local list = {}
put(list, 'groupId', groupIdOf(g.key))
put(list, 'rate', ratePerSecond(g))
list[#list + 1] = '"limit":' .. (g.slow and g.slow.rps and number(g.slow.rps) or 'null')
put(list, 'frozenForMs', math.max(0, (g.slow and g.slow.frozen or 0) - atMs))
put(list, 'nonReadyCount', g.nonReady)
put(list, 'lastBackoffMs', g.backoff)
put(list, 'throttles', g.throttled)
put(list, 'done', g.success + g.failed + g.cancelled)
list[#list + 1] = '"history":' .. History.read(History.groupKey(g))
return object(list)
