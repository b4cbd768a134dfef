-- purpose:   dead letters, newest first.
-- guarantee: reads only; looks at a bounded number.
-- KEYS:      meta
-- ARGV:      settings key jobId signature tenant limit cursor looksMax
-- returns:   {0: no more | 1: more | −cursor: go on there, cursor behind it, JSON of a DeadLetter, …}
-- cost:      O(looksMax).

-- include: letter-json
local limit, looksMax = tonumber(ARGV[6]), tonumber(ARGV[8])
local index = candidates(ARGV[2], ARGV[4])
local top = ARGV[7] == '-' and '+inf' or '(' .. ARGV[7]
local reply, left, isEnd = {0}, looksMax, false
repeat
  local seqs = redis.call('ZREVRANGEBYSCORE', index, top, '-inf', 'LIMIT', 0, math.min(200, left))
  for n = 1, #seqs do
    local letter = letterOf(seqs[n])
    if letter and matches(letter, ARGV[2], ARGV[3], ARGV[4], ARGV[5]) then
      if #reply - 1 == 2 * limit then
        reply[1], isEnd = 1, true
        break
      end
      reply[#reply + 1] = seqs[n]
      reply[#reply + 1] = letterJson(letter)
      -- A job has one letter at most.
      if ARGV[3] ~= '*' then
        isEnd = true
        break
      end
    end
  end
  left = left - #seqs
  if #seqs > 0 then top = '(' .. seqs[#seqs] else isEnd = true end
until isEnd or left <= 0
if not isEnd then reply[1] = -tonumber(string.sub(top, 2)) end
return reply
