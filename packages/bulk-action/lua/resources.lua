-- purpose:   the services that processors call: their limits, and the seats of tenants in the lines of limited ones; as
--            ResourceRecord and Seat in src/memory/records.ts.
-- guarantee: nothing is written before `Lines.save`.
-- defines:   lines (names of resources with a line: those that are limited, and those where somebody still stands), resource(name),
--            knownResource(type), limitedResource(type), resourceCalled(type), seatIn(t, R), seatsOf(t), Lines: stand(R), endEpoch(),
--            drop(t), save(). A resource is {name, rps, concurrency, tat, readyCost, held, virtual, vepoch}; a seat has the fields by which a tenant
--            stands in the free line, and t and R.
-- cost:      O(resources).

-- include: records
-- include: congestion
-- include: vegas
local lines, resource, knownResource, limitedResource, resourceCalled, seatIn, seatsOf, Lines
do
  local resources, seats, typeNames, inLines = {}, {}, {}, {}

  local function addLine(name)
    if inLines[name] then return end
    inLines[name] = true
    lines[#lines + 1] = name
  end

  lines, Lines = {}, {}
  for n = 1, #C.limited do addLine(C.limited[n]) end
  -- Where somebody stood when the settings were others: the line is left when the turn comes.
  for _, name in ipairs(S.lines or {}) do addLine(name) end

  function resource(name)
    local R = resources[name]
    if R then return R end
    local settings = C.resources[name] or {}
    local value = redis.call('HGET', base .. 'rc', name)
    R = value and munpack(value) or {vepoch = 1, a = {epoch = 0, active = 0, throttled = 0, activeBefore = 0, throttledBefore = 0}}
    setmetatable(R, {__index = DEFAULTS})
    R.c = R.c or Congestion.new()
    R.name, R.settings, R.initialRps = name, settings, settings.initialRps or C.congestion.initialRps
    R.limitedForGood = settings.rps or settings.concurrency or settings.adaptiveConcurrency or R.initialRps > 0
    if settings.adaptiveConcurrency then R.v = R.v or Vegas.new() else R.v = nil end
    if not R.learnt then R.rps = settings.rps end
    if not R.v or not value then R.concurrency = settings.concurrency end
    R.limited = R.limited or R.limitedForGood
    R.known = value or C.resources[name]
    -- Its epoch ends with that of the engine, whoever was looked at then.
    if R.sepoch and R.sepoch ~= S.vepoch then R.virtual, R.vepoch = 0, R.vepoch + S.vepoch - R.sepoch end
    R.sepoch = S.vepoch
    resources[name] = R
    return R
  end

  -- The name, and whether a processor has said it.
  local function resourceNameOf(processorType)
    local name = typeNames[processorType]
    if name == nil then
      name = redis.call('HGET', base .. 'types', processorType)
      typeNames[processorType] = name
    end
    return name or processorType, name and true
  end

  -- What a processor type calls, when that is known as a resource; and when it holds its jobs back.
  function knownResource(processorType)
    local R = resource((resourceNameOf(processorType)))
    return R.known and R or nil
  end

  function limitedResource(processorType)
    local R = knownResource(processorType)
    return R and R.limited and R or nil
  end

  -- What a job calls, when its processor was heard of or the resource is configured; made when it is new.
  function resourceCalled(processorType)
    if not C.congestion.enabled then return nil end
    local name, declared = resourceNameOf(processorType)
    local R = resource(name)
    if not R.known then
      if not declared then return nil end
      R.known = true
      if R.limited then Lines.stand(R) end
    end
    return R
  end

  local function storedSeat(t, R, made)
    local field = R.name .. '\t' .. t.id
    local seat = seats[field]
    if seat then return seat end
    local value = redis.call('HGET', base .. 'se', field)
    seat = value and munpack(value) or made
    if not seat then return nil end
    setmetatable(seat, {__index = DEFAULTS})
    seat.t, seat.R = t, R
    seats[field] = seat
    return seat
  end

  function seatIn(t, R)
    return storedSeat(t, R, {vepoch = 1})
  end

  -- Those that a tenant has in the lines of resources.
  function seatsOf(t)
    local found = {}
    for n = 1, #lines do found[#found + 1] = storedSeat(t, resource(lines[n])) end
    return found
  end

  function Lines.stand(R)
    addLine(R.name)
    S.lines = S.lines or {}
    for _, name in ipairs(S.lines) do
      if name == R.name then return end
    end
    S.lines[#S.lines + 1] = R.name
  end

  function Lines.drop(t)
    for n = 1, #lines do
      local field = lines[n] .. '\t' .. t.id
      seats[field] = nil
      redis.call('HDEL', base .. 'se', field)
    end
  end

  -- The engine has ended its epoch.
  function Lines.endEpoch()
    for _, R in pairs(resources) do R.virtual, R.vepoch, R.sepoch = 0, R.vepoch + 1, S.vepoch end
  end

  function Lines.save()
    for name, R in pairs(resources) do
      if R.known then
        redis.call('HSET', base .. 'rc', name, mpack({tat = R.tat, readyCost = R.readyCost, held = R.held, virtual = R.virtual,
          vepoch = R.vepoch, sepoch = R.sepoch, c = R.c, a = R.a, v = R.v, rps = R.rps, concurrency = R.concurrency, learnt = R.learnt,
          frozen = R.frozen, limited = R.limited and true or nil, starts = R.starts, throttles = R.throttles, flips = R.flips, evidence = R.evidence, pointMs = R.pointMs,
          pointThrottles = R.pointThrottles}))
      end
    end
    for field, seat in pairs(seats) do
      redis.call('HSET', base .. 'se', field, mpack({start = seat.start, finish = seat.finish, epoch = seat.epoch,
        fair = seat.fair or nil, fg = seat.fg, virtual = seat.virtual, vepoch = seat.vepoch}))
    end
  end
end
