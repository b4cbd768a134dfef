-- purpose:   give back what one instance has in flight.
-- guarantee: as give-back; a repeat gives back what is left.
-- KEYS:      meta
-- ARGV:      settings instanceId max
-- returns:   {returned, more}
-- cost:      O(in-flight + max × log n).

-- include: when-full
-- include: waiting
-- include: returning
local instanceId, max = ARGV[2], tonumber(ARGV[3])
local all = redis.call('HGETALL', base .. 'fl')
local mine = {}
for n = 1, #all, 2 do
  local key, id = splitName(all[n])
  local job = readFlight(key, id, all[n + 1])
  if job and job.instance == instanceId then mine[#mine + 1] = {all[n], job} end
end
table.sort(mine, function(a, b) return a[1] < b[1] end)
local count = math.min(max, #mine)
for n = count, 1, -1 do
  local g = group(mine[n][2].key)
  if g then returnFlight(g, mine[n][2]) end
end
save()
return {count, #mine > max and 1 or 0}
