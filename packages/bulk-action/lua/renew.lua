-- purpose:   prolong leases.
-- guarantee: only by the token that holds them; a repeat prolongs again.
-- KEYS:      meta
-- ARGV:      settings leases...
-- returns:   one letter per lease: o ok, l lost, c cancelled
-- cost:      O(leases × log in-flight).

-- include: when-full
-- include: flights
local letters, ends = {}, {}
for n = 2, #ARGV, 3 do
  local key, id, token = ARGV[n], ARGV[n + 1], tonumber(ARGV[n + 2])
  local job, g = flightOf(key, id), group(key)
  if not job or not g or job.token ~= token then
    letters[#letters + 1] = 'l'
  else
    ends[#ends + 1], ends[#ends + 2] = atMs + C.ackTimeoutMs, key .. '/' .. id
    letters[#letters + 1] = isLive(g, job.round) and 'o' or 'c'
  end
end
if #ends > 0 then inPieces('ZADD', base .. 'fz', ends) end
return table.concat(letters)
