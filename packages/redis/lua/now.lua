-- purpose:   the time of the store, for every lease, due time and stamp.
-- guarantee: the only file that reads a clock; a test loads the scripts with another `now` and nothing else differs.
-- defines:   now() → whole milliseconds since the Unix epoch, by Redis' clock; the same all through one script.
-- cost:      O(1).
local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
