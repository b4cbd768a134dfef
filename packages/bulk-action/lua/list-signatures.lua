-- purpose:   dead letters by cause.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key tenant
-- returns:   {signature, count, lastFailedAt, …}
-- cost:      O(letters).

-- include: letter-json
local key, tenantName = ARGV[2], ARGV[3]
local counts, lasts, order = {}, {}, {}
for _, seq in ipairs(redis.call('ZRANGE', candidates(key, ''), 0, -1)) do
  local letter = letterOf(seq)
  if letter and matches(letter, key, '*', '', tenantName) then
    if not counts[letter.sig] then order[#order + 1] = letter.sig end
    counts[letter.sig] = (counts[letter.sig] or 0) + 1
    lasts[letter.sig] = math.max(lasts[letter.sig] or 0, letter.fa)
  end
end
local reply = {}
for n = 1, #order do
  local sig = order[n]
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = sig, counts[sig], lasts[sig]
end
return reply
