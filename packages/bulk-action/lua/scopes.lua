-- purpose:   the records of groups and tenants as they are stored.
-- guarantee: what is written is read back the same; absent numbers are 0.
-- defines:   DEFAULTS, SCOPE (metatable of records), STATUSES, STATUS_NUMBERS, GROUP, ALONE, JOB (formats), hasEnded(status), encodeGroup(g, t),
--            decodeGroup(key, value), encodeTenant(t), decodeTenant(id, value).
-- cost:      about 1 µs each way.

-- include: packing
local DEFAULTS, SCOPE, STATUSES, STATUS_NUMBERS, GROUP, ALONE, JOB, hasEnded, encodeGroup, decodeGroup, encodeTenant, decodeTenant
do
  DEFAULTS = {held = 0, running = 0, readyCost = 0, lane = 0, pending = 0, inFlight = 0, ready = 0, nonReady = 0,
    success = 0, failed = 0, cancelled = 0, registered = 0, finish = 0, epoch = 0, start = 0, tat = 0, virtual = 0, fg = 0,
    laneJobs = 0, records = 0, open = 0, served = 0, throttled = 0, denied = 0, backoff = 0, dc = 0, ds = 0, dmin = 0, dmax = 0,
    dead = 0, graves = 0, rc = 0, rb = 0, rx = 0, wc = 0, wp = 0, wf = 0, seq = 0, token = 0, laneGroups = 0, starts = 0, throttles = 0, flips = 0, evidence = 0, readyJobs = 0, flights = 0, odd = 0, active = 0, af = 0, ae = 0,
    RATE_LIMITED = 0, API_THROTTLED = 0, TRANSIENT_ERROR = 0, SCHEDULED = 0, NO_PROCESSOR = 0, ORPHANED = 0}
  -- A field that a record did not have is set seldom, and only then `restOf` has to look for it.
  SCOPE = {__index = DEFAULTS, __newindex = function(record, name, value)
    rawset(record, 'seldom', true)
    rawset(record, name, value)
  end}

  STATUSES = {'CREATED', 'DISPATCHED', 'RUNNING', 'AGGREGATING', 'COMPLETED', 'FAILED', 'CANCELLED', 'PENDING'}
  STATUS_NUMBERS = {}
  for n = 1, #STATUSES do STATUS_NUMBERS[STATUSES[n]] = n end

  function hasEnded(status)
    return status == 'COMPLETED' or status == 'FAILED' or status == 'CANCELLED'
  end

  GROUP = '<BBBBBI6I4I4I4I4I4I4I4I4I4I4I4I4I4I4dddddddI6I6I6I6I6s'
  local GROUP_SELDOM = {'level', 'rps', 'burst', 'concurrency', 'deadline', 'trace', 'paused', 'parked', 'code',
    'quietFrom', 'endedAt', 'expires', 'throttled', 'denied', 'backoff', 'dead', 'graves', 'tat', 'cancelled', 'nonReady', 'ready', 'readyCost',
    'odd', 'types', 'rc', 'rb', 'rx', 'nums', 'agg', 'aggd', 'at', 'aw', 'af', 'ae', 'slow', 'throttledEpoch', 'trial', 'pointMs',
    'pointThrottles'}
  -- What a tenant that stands for one group adds to it; its other numbers are the group's.
  ALONE = '<BI6I4I4ddddddI6I6'
  -- A job begins with: kind, createdAt, round.
  JOB = '<BI6I4'
  local TENANT = '<BBI6I4I4I4I4I4I4I4I4I4I4dddddddI6I6'
  local TENANT_SELDOM = {'rps', 'burst', 'concurrency', 'tat', 'readyCost', 'parked', 'parkedFor', 'configured'}

  -- `t` is the tenant when it is kept with the group.
  function encodeGroup(g, t)
    local value = pack(GROUP, STATUS_NUMBERS[g.status], g.fair and 1 or 0, g.sealed and 1 or 0, g.tried and 1 or 0, t and 1 or 0,
      g.seq, g.round, g.registered, g.lane, g.pending, g.inFlight, g.running, g.held, g.success, g.failed, g.epoch, g.dc, g.wc,
      g.wp, g.active, g.weight, g.finish, g.start, g.ds, g.dmin, g.dmax, g.est or 0, g.progressAt, g.startedAt or 0, g.eventAt or 0,
      g.wa or 0, g.wf, g.tenantId)
    if t then
      value = value .. pack(ALONE, t.fair and 1 or 0, t.seq, t.epoch, t.vepoch, t.finish, t.start, t.virtual, t.served, t.wc, t.wp,
        t.wa or 0, t.wf)
    end
    if not g.seldom then return value end
    return value .. restOf(g, GROUP_SELDOM, DEFAULTS)
  end

  -- The group, and its tenant when it is kept with it.
  function decodeGroup(key, value)
    local status, fair, sealed, tried, alone, seq, round, registered, lane, pending, inFlight, running, held, success, failed,
      epoch, dc, wc, wp, active, weight, finish, start, ds, dmin, dmax, est, progressAt, startedAt, eventAt, wa, wf, tenantId, from =
      unpacked(GROUP, value)
    local g = {key = key, status = STATUSES[status], fair = fair == 1, sealed = sealed == 1, tried = tried == 1, seq = seq,
      round = round, registered = registered, lane = lane, pending = pending, inFlight = inFlight, running = running,
      held = held, success = success, failed = failed, epoch = epoch, dc = dc, wc = wc, wp = wp, active = active,
      weight = weight, finish = finish, start = start, ds = ds, dmin = dmin, dmax = dmax, est = given(est), progressAt = progressAt,
      startedAt = given(startedAt), eventAt = eventAt, wa = given(wa), wf = wf, tenantId = tenantId}
    local t
    if alone == 1 then
      local tFair, tSeq, tEpoch, vepoch, tFinish, tStart, virtual, served, tWc, tWp, tWa, tWf
      tFair, tSeq, tEpoch, vepoch, tFinish, tStart, virtual, served, tWc, tWp, tWa, tWf, from = unpacked(ALONE, value, from)
      t = {id = tenantId, own = key, fair = tFair == 1, seq = tSeq, epoch = tEpoch, vepoch = vepoch, finish = tFinish,
        start = tStart, virtual = virtual, served = served, wc = tWc, wp = tWp, wa = given(tWa), wf = tWf, weight = 1, held = held,
        running = running, laneJobs = lane, pending = pending, inFlight = inFlight, fg = fair, records = 1,
        open = hasEnded(g.status) and 0 or 1}
    end
    if from <= #value then
      takeRest(g, value, from)
      if t then t.readyCost, t.seldom, t.fg = g.readyCost, true, g.at and 0 or fair end
    end
    return g.status and setmetatable(g, SCOPE), t and setmetatable(t, SCOPE)
  end

  function encodeTenant(t)
    local fixed = pack(TENANT, t.fair and 1 or 0, t.own and 1 or 0, t.seq, t.epoch, t.vepoch, t.held, t.running, t.laneJobs,
      t.pending, t.inFlight, t.fg, t.records, t.open, t.weight, t.finish, t.start, t.virtual, t.served, t.wc, t.wp, t.wa or 0, t.wf)
    if not t.seldom then return fixed end
    return fixed .. restOf(t, TENANT_SELDOM, DEFAULTS)
  end

  function decodeTenant(id, value)
    local fair, own, seq, epoch, vepoch, held, running, laneJobs, pending, inFlight, fg, records, open, weight, finish, start,
      virtual, served, wc, wp, wa, wf, from = unpacked(TENANT, value)
    local t = {id = id, fair = fair == 1, own = own == 1 and '/' .. id, seq = seq, epoch = epoch, vepoch = vepoch, held = held,
      running = running, laneJobs = laneJobs, pending = pending, inFlight = inFlight, fg = fg, records = records, open = open,
      weight = weight, finish = finish, start = start, virtual = virtual, served = served, wc = wc, wp = wp, wa = given(wa),
      wf = wf}
    takeRest(t, value, from)
    return setmetatable(t, SCOPE)
  end
end
