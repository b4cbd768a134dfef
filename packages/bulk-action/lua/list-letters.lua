-- purpose:   dead letters, newest first.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings key jobId signature tenant limit cursor
-- returns:   {cursor or 0, cursor behind it, JSON of a DeadLetter, …}
-- cost:      O(letters looked at).

-- include: letter-json
local limit = tonumber(ARGV[6])
local index = candidates(ARGV[2], ARGV[4])
local top = ARGV[7] == '-' and '+inf' or '(' .. ARGV[7]
local reply, more, last = {0}, false, nil
repeat
  local seqs = redis.call('ZREVRANGEBYSCORE', index, top, '-inf', 'LIMIT', 0, 200)
  for n = 1, #seqs do
    local letter = letterOf(seqs[n])
    if letter and matches(letter, ARGV[2], ARGV[3], ARGV[4], ARGV[5]) then
      more = #reply - 1 == 2 * limit
      if more then break end
      last = seqs[n]
      reply[#reply + 1] = last
      reply[#reply + 1] = letterJson(letter)
      -- A job has one letter at most.
      if ARGV[3] ~= '*' then break end
    end
  end
  if #seqs > 0 then top = '(' .. seqs[#seqs] end
until more or #seqs == 0 or (ARGV[3] ~= '*' and last)
if more then reply[1] = last end
return reply
