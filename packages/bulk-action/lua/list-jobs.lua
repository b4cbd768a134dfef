-- purpose:   the jobs of a group in the order of their registration.
-- guarantee: reads only; looks at a bounded number, so a page may be short.
-- KEYS:      meta
-- ARGV:      settings key status limit cursor scanMax
-- returns:   {cursor or -1, JSON of a JobView…}
-- cost:      O(scanMax + ready).

-- include: json
local g = group(ARGV[2])
local status, limit, at, scanMax = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]) or 0, tonumber(ARGV[6])
if not g then return {-1} end
local list = base .. 'o:' .. g.key
local length = redis.call('LLEN', list)
local reply, looked = {-1}, 0
while at < length and #reply - 1 < limit and looked < scanMax do
  local ids = redis.call('LRANGE', list, at, at + 99)
  for n = 1, #ids do
    if #reply - 1 >= limit or looked >= scanMax then break end
    at = at + 1
    looked = looked + 1
    local r = recordOf(g.key, ids[n])
    if r then
      -- What is not asked for is not written out: payloads are large.
      if status == '*' or statusOf(g, r, placeOf(g, ids[n], r)) == status then reply[#reply + 1] = jobJson(g, ids[n], r, true) end
    end
  end
end
if at < length then reply[1] = at end
return reply
