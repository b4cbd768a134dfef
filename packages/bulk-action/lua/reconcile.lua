-- purpose:   compare groups that have not ended with their entries, and repair them, as src/memory/reconcile.ts.
-- guarantee: writes nothing where all is right. Groups of more than `jobsMax` jobs, and those whose ended rounds are still to
--            be swept, are left alone. What became of done jobs is read only where the numbers do not add up.
-- KEYS:      meta
-- ARGV:      settings from span max jobsMax
-- returns:   {looked, repaired, cursor or -1}
-- cost:      O(max × jobsMax + ready).

-- include: when-full
-- include: flights
-- include: waiting
local from, span, max, jobsMax = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local COUNTED_AS = {C = 'success', F = 'failed', X = 'failed', K = 'cancelled'}

local readyOf
-- Ready entries by group, read once.
local function inReady(key)
  if not readyOf then
    readyOf = {}
    local entries = redis.call('LRANGE', base .. 'ready', 0, -1)
    for n = 1, #entries do
      local job = readReady(entries[n])
      if job then
        readyOf[job.key] = readyOf[job.key] or {}
        readyOf[job.key][job.id] = job
      end
    end
  end
  return readyOf[key] or {}
end

local function scoresOf(name, names)
  if #names == 0 then return {} end
  return redis.call('ZMSCORE', base .. name, unpack(names))
end

-- What the entries of a group say its counters should be, and where each of its jobs is.
local function search(g)
  local ids = redis.call('LRANGE', base .. 'o:' .. g.key, 0, -1)
  local names = {}
  for n = 1, #ids do names[n] = g.key .. '/' .. ids[n] end
  local flights = #ids > 0 and redis.call('HMGET', base .. 'fl', unpack(names)) or {}
  local waiting, scheduled, ready = scoresOf('nr', names), scoresOf('sched', names), inReady(g.key)
  local lane = redis.call('LRANGE', laneKey(g), 0, -1)
  local found = {lane = #lane, odd = 0, ready = 0, readyCost = 0, nonReady = 0, inFlight = 0, running = 0}
  local placed = {}
  for n = 1, #lane do
    local job = readLane(g, lane[n])
    placed[job.id] = true
    if find(lane[n], '\t', 1, true) then found.odd = found.odd + 1 end
  end
  for n = 1, #ids do
    local id, flight = ids[n], flights[n] and readFlight(g.key, ids[n], flights[n])
    if flights[n] then
      found.running = found.running + 1
      if not flight or flight.round == g.round then found.inFlight = found.inFlight + 1 end
      placed[id] = true
    elseif waiting[n] or scheduled[n] then
      found.nonReady = found.nonReady + 1
      placed[id] = true
    elseif ready[id] then
      found.ready = found.ready + 1
      found.readyCost = found.readyCost + ready[id].cost
      placed[id] = true
    end
  end
  found.held = found.ready + found.running
  found.pending = found.lane + found.ready + found.nonReady
  return found, ids, placed
end

local function differs(scope, found)
  for name, value in pairs(found) do
    if scope[name] ~= value then return true end
  end
  return false
end

-- What a tenant counts is known here only if this is all it has.
local function ownerCounters(g, t, found)
  if t.records ~= 1 then return {} end
  return {held = found.held, running = found.running, readyCost = found.readyCost, pending = found.pending,
    inFlight = found.inFlight, laneJobs = found.lane, open = 1}
end

-- A job whose entry is gone is still counted where it was: it goes to the head of its lane by the arrow from there.
local function returnLost(g, id, r, found)
  local job = damagedFlight(g.key, id, r)
  if g.ready > found.ready then
    readyToLane(g, job)
  elseif g.inFlight > found.inFlight then
    flightToLane(g, job)
  elseif g.nonReady > found.nonReady then
    nonReadyToLane(g, job, reasonOf(g, id, false), atMs)
  else
    redis.call('LPUSH', laneKey(g), laneEntry(g, job))
  end
end

-- The record says where a group and its tenant stand: as wrong as its counters, they would never have a turn again.
local function readOrders(g, t)
  local seat = seatAt(g, t)
  if seat.R or not seat.own then
    local order = groupOrder(seat).key
    local start = redis.call('ZSCORE', order, memberOf(g.seq, g.key))
    g.fair, g.start, seat.fg = start and true or false, tonumber(start) or g.start, redis.call('ZCARD', order)
    if not start then g.at = nil end
  end
  local start = redis.call('ZSCORE', lineOf(seat.R).key, memberOf(t.seq, t.own or t.id))
  seat.fair, seat.start = start and true or false, tonumber(start) or seat.start
end

local function putRight(g, t)
  local found, ids, placed = search(g)
  local adds = found.pending + found.inFlight + g.success + g.failed + g.cancelled == g.registered
  if adds and not differs(g, found) and not differs(t, ownerCounters(g, t, found)) then return false end
  readOrders(g, t)
  local done, known, lost = {success = 0, failed = 0, cancelled = 0}, 0, 0
  for n = 1, #ids do
    local r = recordOf(g.key, ids[n])
    if r then known = known + 1 end
    if r and r.k then
      done[COUNTED_AS[r.k]] = done[COUNTED_AS[r.k]] + 1
    elseif r and r.rd ~= g.round then
      done.cancelled = done.cancelled + 1
    elseif r and not placed[ids[n]] then
      lost = lost + 1
      returnLost(g, ids[n], r, found)
    end
  end
  saveFlights()
  found = search(g)
  -- Records of an earlier round may be past their retention: then nothing else knows what became of its jobs.
  if known == g.registered then
    for name, count in pairs(done) do found[name] = count end
  end
  local owner = ownerCounters(g, t, found)
  if lost == 0 and not differs(g, found) and not differs(t, owner) then return false end
  for name, value in pairs(found) do g[name] = value end
  for name, value in pairs(owner) do t[name] = value end
  return true
end

local last = math.min(S.seq, from + span)
local page = redis.call('ZRANGEBYSCORE', base .. 'groups', '(' .. format('%d', from), format('%d', last), 'WITHSCORES', 'LIMIT', 0,
  max)
local looked, repaired, changed = #page / 2, 0, false
for n = 1, #page, 2 do
  local g = group(page[n])
  if g and not hasEnded(g.status) and g.graves == 0 and g.registered <= jobsMax then
    local watched = g.paused or redis.call('ZSCORE', base .. 'watch', g.key)
    if putRight(g, tenant(g.tenantId)) or not watched then
      repaired = repaired + 1
      watchGroup(g, timeoutOf(g))
      refresh(g)
      if g.status ~= 'AGGREGATING' then completeIfDone(g) end
      changed = true
    elseif isAhead(g) then
      watchGroup(g, timeoutOf(g))
      changed = true
    end
  end
end
if changed then save() end
local at = looked == max and tonumber(page[#page]) or last
return {looked, repaired, at < S.seq and format('%d', at) or '-1'}
