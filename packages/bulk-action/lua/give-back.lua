-- purpose:   end leases without a result: through the gate into ready, else to the head of the lane.
-- guarantee: only by the token that holds them; retry counts stay.
-- KEYS:      meta
-- ARGV:      settings leases...
-- returns:   one letter per lease: r ready, l lane, s stale, c cancelled, g gone
-- cost:      O(leases × log n).

-- include: when-full
-- include: returning
local letters = {}
-- The last one first: at the head of their lanes they stand in the order they had.
for n = #ARGV - 2, 2, -3 do
  local key, id, token = ARGV[n], ARGV[n + 1], tonumber(ARGV[n + 2])
  local at = (n - 2) / 3 + 1
  local g = group(key)
  local job = g and flightOf(key, id)
  if not g or redis.call('HEXISTS', base .. 'j:' .. key, id) == 0 then
    letters[at] = 'g'
  elseif not job or job.token ~= token then
    letters[at] = 's'
  else
    letters[at] = returnFlight(g, job)
  end
end
save()
return table.concat(letters)
