-- purpose:   what a group was made from.
-- guarantee: `keepDefinition` writes what does not change while the group lives, and where lists find it.
-- defines:   readDefinition(from), keepDefinition(d, seq).
-- cost:      O(log groups).

-- include: settings
local readDefinition, keepDefinition
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

  function keepDefinition(d, seq)
    redis.call('HSET', base .. 'g:' .. d.key, 'tenant', d.tenant, 'fingerprint', d.fingerprint, 'createdAt', atMs,
      'timeoutMs', d.timeoutMs)
    redis.call('ZADD', base .. 'groups', seq, d.key)
    redis.call('ZADD', base .. 'ns:' .. d.tenant, seq, d.key)
  end
end
