-- purpose:   an effect that happens once: begin, renew, finish, release.
-- guarantee: only the token that holds the lease changes it; a finish may be repeated, and counts after the lease too unless somebody else has begun.
-- KEYS:      meta
-- ARGV:      settings verb name token ms result
-- returns:   {'run'} | {'busy', retryInMs} | {'done', result} | {'ok'} | {'no'}
-- cost:      O(1).

-- include: settings
local verb, key, token, ms = ARGV[2], base .. 'once:' .. ARGV[3], ARGV[4], tonumber(ARGV[5])
local fields = redis.call('HMGET', key, 'token', 'result', 'until', 'ms')
local untilMs, lengthMs = tonumber(fields[3]), tonumber(fields[4])
-- Further ahead than it was made for: the clock was set back since.
if untilMs and untilMs - atMs > lengthMs then
  untilMs = atMs + lengthMs
  redis.call('HSET', key, 'until', untilMs)
end
-- The time decides, not the expiry of the key: tests and clocks that were set move the one and not the other.
local current = untilMs and untilMs > atMs
local function keep(result)
  redis.call('HSET', key, 'token', token, 'until', atMs + ms, 'ms', ms)
  if result then redis.call('HSET', key, 'result', result) else redis.call('HDEL', key, 'result') end
  redis.call('PEXPIRE', key, math.max(60000, ms * 2))
end
if verb == 'begin' then
  if current and fields[2] then return {'done', fields[2]} end
  if current and fields[1] ~= token then return {'busy', untilMs - atMs} end
  keep(nil)
  return {'run'}
end
if verb == 'finish' then
  if current and fields[1] ~= token then return {'no'} end
  keep(ARGV[6])
  return {'ok'}
end
if not current or fields[1] ~= token or fields[2] then return {'no'} end
if verb == 'renew' then keep(nil) else redis.call('UNLINK', key) end
return {'ok'}
