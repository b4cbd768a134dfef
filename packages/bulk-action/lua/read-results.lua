-- purpose:   the stored results of a group, in the order of settlement.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key limit cursor
-- returns:   {cursor or -1, results as 3 lines each…}
-- cost:      O(limit), and O(results / 100) to find the place in a long list.

-- include: settings
local list, limit, from = base .. 'rs:' .. ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local answer = redis.call('LRANGE', list, from, from + limit - 1)
local to = from + limit
table.insert(answer, 1, to < redis.call('LLEN', list) and to or -1)
return answer
