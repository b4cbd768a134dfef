-- purpose:   the time of the store, for every lease, due time and stamp.
-- guarantee: the only file that reads a clock; a test loads the scripts with another `now` and nothing else differs.
-- defines:   now() → whole milliseconds since the Unix epoch, nowUs() → microseconds, by Redis' clock; the same all through one script.
-- cost:      O(1).
local function nowUs()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function now()
  return math.floor(nowUs() / 1000)
end
