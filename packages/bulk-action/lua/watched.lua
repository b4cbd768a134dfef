-- purpose:   when the watcher looks at a group, as src/memory/watched.ts.
-- guarantee: a group that has not ended, and that time alone can end, is in `watch`; progress does not move it there.
-- defines:   timeoutOf(g), endQuietPause(g), isAhead(g), overdueCode(g, timeoutMs), watchGroup(g, timeoutMs).
-- cost:      O(log groups) each.

-- include: records
local timeoutOf, endQuietPause, isAhead, overdueCode, watchGroup
do
  function timeoutOf(g)
    return tonumber(redis.call('HGET', base .. 'g:' .. g.key, 'timeoutMs')) or C.groupTimeoutMs
  end

  -- Whether its last progress lies ahead: the clock was set back since.
  function isAhead(g)
    return math.max(g.progressAt, g.quietFrom or 0) > atMs
  end

  -- Times that lie ahead count from now on, or the group would be waited for until the clock shows them again.
  local function quietSince(g)
    if isAhead(g) then
      g.progressAt = math.min(g.progressAt, atMs)
      if g.quietFrom then g.quietFrom = math.min(g.quietFrom, atMs) end
    end
    return math.max(g.progressAt, g.quietFrom or 0)
  end

  -- The end of a pause: its time does not count, what was quiet before it does.
  function endQuietPause(g)
    g.quietFrom = atMs - math.max(0, math.min(g.paused, atMs) - quietSince(g))
  end

  function overdueCode(g, timeoutMs)
    if g.deadline and atMs >= g.deadline then return 'DEADLINE_EXCEEDED' end
    if not g.paused and atMs >= quietSince(g) + timeoutMs then return 'GROUP_TIMEOUT' end
    return nil
  end

  function watchGroup(g, timeoutMs)
    local lookMs = g.deadline
    if not g.paused then lookMs = math.min(lookMs or math.huge, quietSince(g) + timeoutMs) end
    if lookMs then redis.call('ZADD', base .. 'watch', lookMs, g.key) else redis.call('ZREM', base .. 'watch', g.key) end
  end
end
