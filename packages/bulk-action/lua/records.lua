-- purpose:   the records of engine, tenants and groups, each one packed value: read once, changed in Lua, written once.
-- guarantee: nothing is written before `save`; a script that refuses has changed nothing. Absent numbers are 0.
-- defines:   mpack, munpack, S (engine), group(key), tenant(id), tenantOf(id), save(), ring(kind), tell(type, g, jobId), hasEnded(status).
-- cost:      O(1) for each record that is touched.

-- include: settings
-- include: mark
local mpack = cmsgpack.pack

-- A value that somebody has damaged is nil, not an error: an error in the middle of a script would leave half of it done.
local function munpack(value)
  local ok, record = pcall(cmsgpack.unpack, value)
  if ok and type(record) == 'table' then return record end
  return nil
end
-- Counters that are 0 need not be stored: the record of a quiet group stays small.
local COUNTS = {__index = {held = 0, running = 0, readyCost = 0, lane = 0, pending = 0, inFlight = 0, ready = 0, nonReady = 0,
  success = 0, failed = 0, cancelled = 0, registered = 0, finish = 0, epoch = 0, start = 0, tat = 0, virtual = 0, fg = 0,
  laneJobs = 0, records = 0, open = 0, served = 0, throttled = 0, denied = 0, backoff = 0, dc = 0, ds = 0, dmin = 0, dmax = 0,
  dead = 0, graves = 0, pausedMs = 0, wc = 0, wp = 0, wf = 0, seq = 0, token = 0, laneGroups = 0, readyJobs = 0,
  RATE_LIMITED = 0, API_THROTTLED = 0, TRANSIENT_ERROR = 0, SCHEDULED = 0, NO_PROCESSOR = 0, ORPHANED = 0}}

local function load(value)
  local record = munpack(value)
  return record and setmetatable(record, COUNTS)
end

local stateValue = redis.call('GET', base .. 'state')
local S = (stateValue and load(stateValue)) or setmetatable({vepoch = 1, est = 100}, COUNTS)
local groups, tenants, removedTenants = {}, {}, {}
local rings, events = {}, {}

local function group(key)
  local g = groups[key]
  if g == nil then
    local value = redis.call('HGET', base .. 'g:' .. key, 'h')
    g = (value and load(value)) or false
    if g then g.key = key end
    groups[key] = g
  end
  return g or nil
end

local function tenant(id)
  local t = tenants[id]
  if t == nil then
    local value = redis.call('GET', base .. 't:' .. id)
    t = (value and load(value)) or false
    if t then t.id = id end
    tenants[id] = t
  end
  return t or nil
end

local function tenantOf(id)
  local t = tenant(id)
  if not t then
    S.seq = S.seq + 1
    t = setmetatable({id = id, seq = S.seq, weight = 1, vepoch = 1}, COUNTS)
    tenants[id] = t
    redis.call('SADD', base .. 'tenants', id)
  end
  return t
end

local function ring(kind)
  rings[kind] = true
end

local function groupIdOf(key)
  if string.sub(key, 1, 1) == '/' then return string.sub(key, 2) end
  return key
end

local function tell(kind, g, jobId)
  events[#events + 1] = table.concat({kind, g.key, g.round, g.status, jobId or '-', atMs}, ' ')
end

local function hasEnded(status)
  return status == 'COMPLETED' or status == 'FAILED' or status == 'CANCELLED'
end

local function save()
  for key, g in pairs(groups) do
    if g then
      g.key = nil
      redis.call('HSET', base .. 'g:' .. key, 'h', mpack(g))
      g.key = key
    end
  end
  for id, t in pairs(tenants) do
    if t and not removedTenants[id] then
      t.id = nil
      redis.call('SET', base .. 't:' .. id, mpack(t))
      t.id = id
    end
  end
  redis.call('SET', base .. 'state', mpack(S))
  for kind in pairs(rings) do mark(base .. 'w:' .. kind, 1) end
  for n = 1, #events do redis.call('PUBLISH', base .. 'events', events[n]) end
end
