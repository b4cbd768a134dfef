-- purpose:   groups that time alone can end: neither ended nor paused for good.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings limit
-- returns:   {JSON of a GroupView, …}
-- cost:      O(limit).

-- include: json
local reply = {}
for _, key in ipairs(redis.call('ZRANGE', base .. 'watch', 0, tonumber(ARGV[2]) - 1, 'REV')) do
  local g = group(key)
  if g then reply[#reply + 1] = groupJson(g) end
end
return reply
