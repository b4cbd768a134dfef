-- purpose:   the newest stored result of a job, looked for from the newest result of its group down.
-- guarantee: reads only; looks through a part of them, bounded by number and by bytes.
-- KEYS:      meta
-- ARGV:      settings key jobId max cursor
-- returns:   {cursor or 0} | {0, result as 3 lines}
-- cost:      O(max), and O(results / 100) to find the place in a long list.

-- include: settings
local PAGE, BYTES_MAX = 50, 1048576
local list, prefix, max = base .. 'rs:' .. ARGV[2], ARGV[3] .. '\n', tonumber(ARGV[4])
local before = ARGV[5] == '-' and redis.call('LLEN', list) or tonumber(ARGV[5])
local looked, bytes = 0, 0
while before > 0 and looked < max and bytes < BYTES_MAX do
  local from = math.max(0, before - math.min(PAGE, max - looked))
  local page = redis.call('LRANGE', list, from, before - 1)
  for n = #page, 1, -1 do
    if string.sub(page[n], 1, #prefix) == prefix then return {0, page[n]} end
    bytes = bytes + #page[n]
  end
  looked = looked + before - from
  before = from
end
return {before}
