-- purpose:   the services that processors call: their limits, and the seats of tenants in the lines of limited ones; as
--            ResourceRecord and Seat in src/memory/records.ts.
-- guarantee: nothing is written before `saveResources`. Without configured resources nothing is read either.
-- defines:   lines (names of resources with a line: those that are limited, and those where somebody still stands), resource(name),
--            knownResource(type), limitedResource(type), seatIn(t, R), seatsOf(t), standInLine(R), dropSeats(t), saveResources(). A
--            resource is {name, rps, concurrency, tat, readyCost, held, virtual, vepoch}; a seat has the fields by which a tenant
--            stands in the free line, and t and R.
-- cost:      O(resources).

-- include: records
local lines, resource, knownResource, limitedResource, seatIn, seatsOf, standInLine, dropSeats, saveResources
do
  local resources, seats, typeNames, inLines = {}, {}, {}, {}

  local function addLine(name)
    if inLines[name] then return end
    inLines[name] = true
    lines[#lines + 1] = name
  end

  lines = {}
  for n = 1, #C.limited do addLine(C.limited[n]) end
  -- Where somebody stood when the settings were others: the line is left when the turn comes.
  for _, name in ipairs(S.lines or {}) do addLine(name) end

  function resource(name)
    local R = resources[name]
    if R then return R end
    local limits = C.resources[name] or {}
    local value = redis.call('HGET', base .. 'rc', name)
    R = value and munpack(value) or {vepoch = 1}
    setmetatable(R, {__index = DEFAULTS})
    R.name, R.rps, R.concurrency = name, limits.rps, limits.concurrency
    resources[name] = R
    return R
  end

  local function resourceNameOf(processorType)
    local name = typeNames[processorType]
    if not name then
      name = redis.call('HGET', base .. 'types', processorType) or processorType
      typeNames[processorType] = name
    end
    return name
  end

  -- What a processor type calls, when the settings name it; and when that holds its jobs back.
  function knownResource(processorType)
    if not next(C.resources) then return nil end
    local name = resourceNameOf(processorType)
    return C.resources[name] and resource(name)
  end

  function limitedResource(processorType)
    local R = knownResource(processorType)
    return R and (R.rps or R.concurrency) and R or nil
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

  function standInLine(R)
    addLine(R.name)
    S.lines = S.lines or {}
    for _, name in ipairs(S.lines) do
      if name == R.name then return end
    end
    S.lines[#S.lines + 1] = R.name
  end

  function dropSeats(t)
    for n = 1, #lines do
      local field = lines[n] .. '\t' .. t.id
      seats[field] = nil
      redis.call('HDEL', base .. 'se', field)
    end
  end

  function saveResources()
    for name, R in pairs(resources) do
      redis.call('HSET', base .. 'rc', name,
        mpack({tat = R.tat, readyCost = R.readyCost, held = R.held, virtual = R.virtual, vepoch = R.vepoch}))
    end
    for field, seat in pairs(seats) do
      redis.call('HSET', base .. 'se', field, mpack({start = seat.start, finish = seat.finish, epoch = seat.epoch,
        fair = seat.fair or nil, fg = seat.fg, virtual = seat.virtual, vepoch = seat.vepoch}))
    end
  end
end
