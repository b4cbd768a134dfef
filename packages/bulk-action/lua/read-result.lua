-- purpose:   what came of a round.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key round
-- returns:   JSON of the raw numbers | nil
-- cost:      O(rounds).

-- include: json
local hash = base .. 'r:' .. ARGV[2]
local round = ARGV[3]
if round == '-' then
  local last = 0
  for _, name in ipairs(redis.call('HKEYS', hash)) do last = math.max(last, tonumber(name)) end
  round = last
end
return redis.call('HGET', hash, round)
