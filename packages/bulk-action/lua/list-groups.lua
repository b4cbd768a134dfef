-- purpose:   groups, newest first.
-- guarantee: reads only; looks at a bounded number, so a page may be short.
-- KEYS:      meta
-- ARGV:      settings tenant tenantId status limit cursor scanMax
-- returns:   {cursor or 0, cursor behind it, JSON of a GroupView, …}
-- cost:      O(scanMax).

-- include: json
local tenantName, tenantId, status, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local cursor, scanMax = ARGV[6], tonumber(ARGV[7])
local index = base .. (tenantName == '*' and 'groups' or 'ns:' .. tenantName)
local reply, last, looked, found = {0}, nil, 0, 0
local top = cursor == '-' and '+inf' or cursor
while found < limit and looked < scanMax do
  local page = redis.call('ZREVRANGEBYSCORE', index, top, '-inf', 'WITHSCORES', 'LIMIT', 0, 100)
  if #page == 0 then last = nil break end
  for n = 1, #page, 2 do
    if found >= limit then break end
    looked = looked + 1
    last = tonumber(page[n + 1])
    local g = group(page[n])
    if g and (tenantId == '*' or g.tenantId == tenantId) and (status == '*' or g.status == status) then
      found = found + 1
      reply[2 * found], reply[2 * found + 1] = string.format('%d', last - 1), groupJson(g)
    end
  end
  top = '(' .. string.format('%d', last)
end
if last and last > 1 then reply[1] = string.format('%d', last - 1) end
return reply
