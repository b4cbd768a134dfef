-- purpose:   some dead letters by cause, from the oldest on.
-- guarantee: reads only; looks at a bounded number. Of each cause: how many, first and last failure, and what the last one was.
-- KEYS:      meta
-- ARGV:      settings key tenant max cursor
-- returns:   {cursor or 0, signature, count, firstFailedAt, lastFailedAt, processorType, code, groupId, jobId, message, …}
-- cost:      O(max).

-- include: letters
local key, tenantName, max = ARGV[2], ARGV[3], tonumber(ARGV[4])
local seqs = redis.call('ZRANGEBYSCORE', candidates(key, ''), '(' .. ARGV[5], '+inf', 'LIMIT', 0, max)
local causes, order = {}, {}
for n = 1, #seqs do
  local letter = letterOf(seqs[n])
  if letter and matches(letter, key, '*', '', tenantName) then
    local cause = causes[letter.sig]
    if not cause then
      cause = {count = 0, first = letter.fa, latest = letter}
      causes[letter.sig] = cause
      order[#order + 1] = cause
    end
    cause.count = cause.count + 1
    cause.first = math.min(cause.first, letter.fa)
    if letter.fa >= cause.latest.fa then cause.latest = letter end
  end
end
local reply = {#seqs == max and seqs[max] or 0}
for n = 1, #order do
  local cause, at = order[n], #reply
  local latest = cause.latest
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = latest.sig, cause.count, cause.first, latest.fa
  reply[at + 5], reply[at + 6], reply[at + 7] = latest.t, latest.code, groupIdOf(latest.g)
  reply[at + 8], reply[at + 9] = latest.id, latest.e
end
return reply
