-- purpose:   read the time of Redis, for every lease, due time and timestamp.
-- guarantee: no other file reads a clock. A test loads the scripts with another `now`, and nothing else differs.
-- defines:   now() → whole milliseconds since the Unix epoch, nowUs() → microseconds. Both are constant within one script.
-- cost:      O(1).
local function nowUs()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function now()
  return math.floor(nowUs() / 1000)
end
