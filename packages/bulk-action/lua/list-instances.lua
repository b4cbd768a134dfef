-- purpose:   who is alive.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings
-- returns:   {id, startedAt, slots, waiting, types, silentMs, …}
-- cost:      O(instances).

-- include: alive
local reply = {}
local alive = aliveInstances()
for n = 1, #alive, 2 do
  local fields = redis.call('HMGET', base .. 'i:' .. alive[n], 'startedAt', 'slots', 'waiting', 'types')
  local at = #reply
  reply[at + 1], reply[at + 2], reply[at + 3] = alive[n], fields[1] or alive[n + 1], fields[2] or '0'
  reply[at + 4], reply[at + 5], reply[at + 6] = fields[3] or '0', fields[4] or '[]', atMs - tonumber(alive[n + 1])
end
return reply
