-- purpose:   settle what a client has taken: keep (it will be delivered), return to the head, or set aside as corrupt.
-- guarantee: repeatable: the first execution decides and every repeat answers the same. What is no longer the
--            client's own (its lease expired) is left alone and answered as lost.
-- KEYS:      items taken leases meta wake room client corrupt
-- ARGV:      maxSize clientTtlMs owner sequence idsAndVerdicts...
-- returns:   one letter per item: k kept, r returned, c set aside, l lost
-- cost:      O(items); at most 100, as many as one take gives.

-- include: mark

local items, taken, leases, meta, wake, room, client, corrupt = unpack(KEYS)
local maxSize, clientTtlMs, owner, sequence = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local CORRUPT_MAX = 100

local last, settled = unpack(redis.call('HMGET', client, 'confirm', 'settled'))
if last and tonumber(last) == sequence then return settled end

local letters, back, aside = {}, {}, {}
for n = 5, #ARGV, 2 do
  local id, verdict = ARGV[n], ARGV[n + 1]
  local value = redis.call('HGET', taken, id)
  if value and string.sub(value, 1, #owner + 1) == owner .. ' ' then
    redis.call('HDEL', taken, id)
    redis.call('ZREM', leases, id)
    local entry = string.sub(value, #owner + 2)
    if verdict == 'r' then back[#back + 1] = entry end
    if verdict == 'c' then aside[#aside + 1] = entry end
    letters[#letters + 1] = verdict
  else
    letters[#letters + 1] = 'l'
  end
end
local answer = table.concat(letters)
if not string.find(answer, '[^l]') then return answer end

for n = #back, 1, -1 do redis.call('LPUSH', items, back[n]) end
if #aside > 0 then
  redis.call('LPUSH', corrupt, unpack(aside))
  redis.call('LTRIM', corrupt, 0, CORRUPT_MAX - 1)
end
redis.call('HSET', client, 'confirm', sequence, 'settled', answer)
redis.call('PEXPIRE', client, clientTtlMs)
if maxSize > 0 and string.find(answer, '[kc]') then mark(room, 1) end
local drained = redis.call('EXISTS', items, taken) == 0 and redis.call('HEXISTS', meta, 'closed') == 1
if #back > 0 or drained then mark(wake, 1) end
return answer
