-- purpose:   the engine's settings, its key base and the time of the step.
-- guarantee: reads nothing but the clock; every process of an engine passes the same settings.
-- defines:   C (settings by name), base (what all keys begin with), atUs, atMs.
-- cost:      O(1); 4 µs for the settings.

-- include: now
local C = cjson.decode(ARGV[1])
local base = string.sub(KEYS[1], 1, -5)
local atUs = nowUs()
local atMs = math.floor(atUs / 1000)
