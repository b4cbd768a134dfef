-- purpose:   how rates went, in points, as src/memory/history.ts and src/memory/congestion-history.ts; when one is due as
--            src/rules/congestion-history.ts.
-- guarantee: at most POINTS_MAX points of each; those of a resource that nobody calls expire.
-- defines:   History: ofResource(R), ofGroup(g), throttled(g), read(key, names) → JSON, groupKey(g), resourceKey(R).
-- cost:      O(1) for a point, O(points) to read.

-- include: resources
-- include: window
local History = {}
do
  local POINTS_MAX, EVERY_MIN_MS = 720, 1000
  local retentionMs = C.congestion.statsRetentionMs

  local function isDue(record)
    if retentionMs == 0 then return false end
    if not record.pointMs or atMs < record.pointMs then return true end
    return atMs - record.pointMs >= math.max(EVERY_MIN_MS, math.ceil(retentionMs / POINTS_MAX))
  end

  local function exact(value)
    return value and string.format('%.17g', value) or 'null'
  end

  local function add(key, record, fields)
    redis.call('RPUSH', key, atMs .. ',' .. fields .. ',' .. (record.pointThrottles or 0))
    redis.call('LTRIM', key, -POINTS_MAX, -1)
    redis.call('PEXPIRE', key, retentionMs)
    record.pointMs, record.pointThrottles = atMs, 0
  end

  function History.groupKey(g)
    return base .. 'gh:' .. g.key
  end

  function History.resourceKey(R)
    return base .. 'rh:' .. R.name
  end

  function History.ofResource(R)
    if not isDue(R) then return end
    add(History.resourceKey(R), R, exact(Congestion.rateAt(R.c)) .. ',' .. exact(R.rps) .. ',' .. exact(R.concurrency))
  end

  function History.ofGroup(g)
    if not isDue(g) then return end
    add(History.groupKey(g), g, exact(ratePerSecond(g)) .. ',' .. exact(g.slow and g.slow.rps) .. ',' .. g.nonReady .. ',' .. exact(g.backoff))
  end

  function History.throttled(g)
    g.pointThrottles = (g.pointThrottles or 0) + 1
    History.ofGroup(g)
  end

  -- A JSON list of lists; those that are too old are left out.
  function History.read(key)
    local points = redis.call('LRANGE', key, 0, -1)
    local list = {}
    for n = 1, #points do
      local at = tonumber(string.match(points[n], '^(%d+),'))
      if at and at > atMs - retentionMs then list[#list + 1] = '[' .. points[n] .. ']' end
    end
    return '[' .. table.concat(list, ',') .. ']'
  end
end
