-- purpose:   jobs under a lease.
-- guarantee: the entry itself holds what its end needs; counters change only with it.
-- defines:   flightOf(key, id), triesOf(job), answerOf(g, job, r), settledStatus.
-- cost:      O(1).

-- include: place
local function readFlight(key, id, value)
  local f = munpack(value)
  if not f or not f.k then return nil end
  return {key = key, id = id, instance = f.i, token = f.k, since = f.s, charged = f.ch, ge = f.ge, te = f.te, round = f.rd,
    attempts = f.a, retry = f.r, orphan = f.o, cost = f.c, charge = f.q, deadline = f.d, waiting = f.w, state = f.x, suspect = f.u}
end

local function flightOf(key, id)
  local value = redis.call('HGET', base .. 'fl', key .. '/' .. id)
  return value and readFlight(key, id, value)
end

-- The lease of a damaged entry, as far as it is known.
local function damagedFlight(key, id, r)
  return {key = key, id = id, instance = '', token = 0, since = atMs, charged = 0, ge = -1, te = -1, round = r.rd, attempts = 1,
    retry = 0, orphan = 0, cost = r.c, charge = r.ch, deadline = r.dl}
end

-- The state of the tries of a job in flight, for its next place.
local function triesOf(job)
  local s = job.state and stateOf(job.key, job.id) or {}
  s.r, s.o, s.a, s.sa = job.retry, job.orphan, job.attempts, job.since
  s.rs = nil
  return s
end

-- One lease as flat values: key id token tenant tenantId type payload cost retry attempt createdAt waitedMs deadline traceparent.
local function pushLease(answer, g, job, r, tenantName)
  local deadline = deadlineOf(g, job)
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = g.key, job.id, job.token
  answer[n + 4], answer[n + 5], answer[n + 6] = tenantName, g.tenantId, r.t
  answer[n + 7], answer[n + 8], answer[n + 9] = r.p or 'null', r.c, job.retry
  answer[n + 10], answer[n + 11] = job.attempts, r.at
  answer[n + 12] = math.max(0, math.floor(job.since - (job.waiting or r.at)))
  answer[n + 13], answer[n + 14] = deadline or '-', r.tp or g.trace or ''
end

local function tenantNameOf(key)
  return string.match(key, '^([^/]*)/')
end
