-- purpose:   makes a group from its definition, as src/memory/groups.ts.
-- guarantee: writes the group and counts it with its tenant.
-- defines:   readDefinition(from), register(definition).
-- cost:      O(log groups).

-- include: moves
local readDefinition, register
do
  local function optional(value)
    if value == '-' then return nil end
    return tonumber(value)
  end

  -- ARGV from `from` on: key tenant tenantId weight level rps burst concurrency timeoutMs deadline traceparent fingerprint.
  function readDefinition(from)
    return {key = ARGV[from], tenant = ARGV[from + 1], tenantId = ARGV[from + 2], weight = tonumber(ARGV[from + 3]),
      level = ARGV[from + 4], rps = optional(ARGV[from + 5]), burst = optional(ARGV[from + 6]),
      concurrency = optional(ARGV[from + 7]), timeoutMs = tonumber(ARGV[from + 8]), deadline = optional(ARGV[from + 9]),
      trace = ARGV[from + 10], fingerprint = ARGV[from + 11]}
  end

  function register(d)
    local t = tenantOf(d.tenantId)
    S.seq = S.seq + 1
    local g = setmetatable({key = d.key, seldom = true, fair = false, sealed = false, tried = false, tenantId = d.tenantId, seq = S.seq, weight = d.weight,
      level = d.level ~= 'normal' and d.level or nil, rps = d.rps, burst = d.burst, concurrency = d.concurrency,
      deadline = d.deadline, status = 'CREATED', round = 1, progressAt = atMs}, SCOPE)
    if d.trace ~= '' then g.trace = d.trace end
    groups[d.key] = g
    local standsForItself = d.tenant == '' and d.key == '/' .. d.tenantId
    setOwn(t, t.records == 0 and standsForItself and d.key)
    t.records = t.records + 1
    t.open = t.open + 1
    redis.call('HSET', base .. 'g:' .. d.key, 'tenant', d.tenant, 'fingerprint', d.fingerprint, 'createdAt', atMs,
      'timeoutMs', d.timeoutMs)
    redis.call('ZADD', base .. 'groups', g.seq, d.key)
    redis.call('ZADD', base .. 'ns:' .. d.tenant, g.seq, d.key)
    watchGroup(g, d.timeoutMs)
    return g
  end
end
