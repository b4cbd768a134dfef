-- purpose:   who is next: start-time fair queueing over tenants and over the groups of a tenant, as src/memory/fair-queue.ts.
-- guarantee: a group is in the order of one seat of its tenant exactly while nothing but a rate may hold it back: in the line of
--            the resource that its first job calls when that is limited, else in the free one. A seat is in its line exactly while
--            a group is in it. `refresh` keeps both true after every change. The seat in the free line is the tenant itself.
-- defines:   refresh(g, t), refreshTenant(t), parkGroup, parkTenant, unpark, unparkDue, forgetParking, takeTurn, endTurn,
--            endIdleEpochs(t), reweigh(g, t, change), tenantWeight(t), topSeat(R), topGroup(seat), setOwn(t, key),
--            startTag, freeStart(t), seatAt(g, t), seatWanted(g, t), enterSeat, leaveSeat, putSeat, dropSeat.
-- cost:      O(log n) for each change.

-- include: rates
-- include: lines
-- include: lanes
local putSeat, dropSeat, startTag, freeStart, topSeat, topGroup,
  setOwn, seatAt, seatWanted, enterSeat, leaveSeat, refreshTenant, refresh, parkGroup, parkTenant, unparkGroup,
  unparkTenant, unparkDue, forgetParking, tenantWeight, takeTurn, endIdleEpochs, endTurn, reweigh
do
  local function seatMember(seat)
    local t = seat.t or seat
    -- A tenant that stands for one group is named by it: one look finds both.
    return memberOf(t.seq, t.own or t.id)
  end

  function putSeat(seat)
    put(lineOf(seat.R), seatMember(seat), seat.start)
  end

  function dropSeat(seat)
    remove(lineOf(seat.R), seatMember(seat))
  end

  -- A tenant that stands for one group needs no order of its groups.
  local function putGroup(g, seat)
    if seat.R or not seat.own then put(groupOrder(seat), memberOf(g.seq, g.key), g.start) end
  end

  local function dropGroup(g, seat)
    if seat.R or not seat.own then remove(groupOrder(seat), memberOf(g.seq, g.key)) end
  end

  function startTag(clock, tag)
    local finish = 0
    if tag.epoch == clock.vepoch then finish = tag.finish end
    return math.max(clock.virtual, finish)
  end

  -- Where a tenant stands among all: who was held back by a resource is not ahead of those who were not.
  function freeStart(t)
    return t.fair and t.start or startTag(S, t)
  end

  -- The first of the free line, or of the line of a resource.
  function topSeat(R)
    local top = firstOf(lineOf(R))
    local t = top and tenantNamed(sub(top, 18))
    if not t then return nil end
    return R and seatIn(t, R) or t
  end

  function topGroup(seat)
    if not seat.R and seat.own then return seat.fg > 0 and group(seat.own) or nil end
    local top = firstOf(groupOrder(seat))
    return top and group(sub(top, 18))
  end

  -- The one group that a tenant stands for, or false; the orders go by it.
  function setOwn(t, key)
    if t.own == key then return end
    local before = t.own and group(t.own)
    local standing = {}
    for _, seat in ipairs({t, unpack(seatsOf(t))}) do
      if seat.fair then
        dropSeat(seat)
        standing[#standing + 1] = seat
      end
    end
    t.own = key
    if key and not t.configured then redis.call('HDEL', tenantsKey, t.id) end
    for n = 1, #standing do putSeat(standing[n]) end
    if before and before.fair and not before.at then putGroup(before, t) end
  end

  -- The seat in whose order a group stands, and the one where it has to stand now.
  function seatAt(g, t)
    return g.at and seatIn(t, resource(g.at)) or t
  end

  function seatWanted(g, t)
    local R = #lines > 0 and limitedResource(firstTypeOf(g))
    return R and seatIn(t, R) or t
  end

  -- Into the order of a seat, with the start tag it has.
  function enterSeat(g, seat)
    g.fair = true
    if seat.R then
      g.at = seat.R.name
      Lines.stand(seat.R)
    end
    seat.fg = seat.fg + 1
    putGroup(g, seat)
  end

  function leaveSeat(g, t)
    local seat = seatAt(g, t)
    dropGroup(g, seat)
    seat.fg = seat.fg - 1
    g.fair = false
    if g.at then g.at = nil end
  end

  local function startIn(g, seat)
    if not seat.R then return startTag(seat, g) end
    if g.aw ~= seat.R.name then g.aw, g.af, g.ae = seat.R.name, 0, 0 end
    return startTag(seat, {finish = g.af, epoch = g.ae})
  end

  local function hasFreeSlot(r)
    return not r.concurrency or r.held < r.concurrency
  end

  local function refreshSeat(seat, open)
    if not open or seat.fg == 0 then
      if seat.fair then
        dropSeat(seat)
        seat.fair = false
      end
    elseif not seat.fair then
      seat.start = startTag(seat.R or S, seat)
      seat.fair = true
      putSeat(seat)
      announceTurn()
    end
  end

  function refreshTenant(t)
    if t.parked then
      local g = group(t.parkedFor)
      if not g or not g.fair or topGroup(seatAt(g, t)) ~= g then
        redis.call('ZREM', base .. 'parked', 't:' .. t.id)
        t.parked = nil
      end
    end
    local open = not t.parked and hasFreeSlot(t)
    refreshSeat(t, open)
    if #lines == 0 then return end
    local seats = seatsOf(t)
    for n = 1, #seats do refreshSeat(seats[n], open) end
  end

  function refresh(g, t)
    t = t or tenant(g.tenantId)
    local eligible = g.lane > 0 and not g.paused and not hasEnded(g.status) and not g.parked and hasFreeSlot(g)
    local seat = eligible and seatWanted(g, t)
    if g.fair and seatAt(g, t) ~= seat then leaveSeat(g, t) end
    if seat and not g.fair then
      g.start = startIn(g, seat)
      enterSeat(g, seat)
      announceTurn()
    end
    refreshTenant(t)
  end

  function parkGroup(g, untilUs)
    g.parked = untilUs
    redis.call('ZADD', base .. 'parked', untilUs, 'g:' .. g.key)
    refresh(g)
    ring('fetch')
  end

  function parkTenant(g, untilUs)
    local t = tenant(g.tenantId)
    t.parkedFor = g.key
    t.parked = untilUs
    redis.call('ZADD', base .. 'parked', untilUs, 't:' .. t.id)
    refreshTenant(t)
    ring('fetch')
  end

  function unparkGroup(g)
    redis.call('ZREM', base .. 'parked', 'g:' .. g.key)
    g.parked = nil
    refresh(g)
  end

  function unparkTenant(t)
    redis.call('ZREM', base .. 'parked', 't:' .. t.id)
    t.parked = nil
    refreshTenant(t)
  end

  function unparkDue(max)
    local due = redis.call('ZRANGEBYSCORE', base .. 'parked', '-inf', atUs, 'LIMIT', 0, max)
    for n = 1, #due do
      local name = string.sub(due[n], 3)
      if string.sub(due[n], 1, 1) == 'g' then
        local g = group(name)
        if g then unparkGroup(g) else redis.call('ZREM', base .. 'parked', due[n]) end
      else
        local t = tenant(name)
        if t then unparkTenant(t) else redis.call('ZREM', base .. 'parked', due[n]) end
      end
    end
  end

  function forgetParking(g)
    if g.parked then unparkGroup(g) end
    local t = tenant(g.tenantId)
    if t.parked then unparkTenant(t) end
  end

  function tenantWeight(t)
    if not t.own then return t.weight end
    local own = group(t.own)
    return own and groupWeight(own) * t.weight or t.weight
  end

  local function serveGroup(g, seat, charge, weight)
    seat.virtual = math.max(seat.virtual, g.start)
    local finish = g.start + charge / weight
    if seat.R then g.ae, g.af = seat.vepoch, finish else g.epoch, g.finish = seat.vepoch, finish end
    g.start = finish
    putGroup(g, seat)
  end

  local function serveSeat(seat, start, charge, weight)
    local clock = seat.R or S
    clock.virtual = math.max(clock.virtual, start)
    seat.epoch = clock.vepoch
    seat.finish = start + charge / weight
    if not seat.fair then return end
    seat.start = seat.finish
    putSeat(seat)
  end

  -- Charges the turn of a job to its group and tenant, and gives it its cap slot. The group is in the fair orders.
  function takeTurn(g, t, job)
    local seat = seatAt(g, t)
    local charged = job.cost
    if C.charge == 'time' then charged = g.est or S.est
    elseif C.charge ~= 'job' then charged = job.charge or job.cost end
    local weight = groupWeight(g)
    serveGroup(g, seat, charged, weight)
    local ofTenant = t.own and weight * t.weight or t.weight
    serveSeat(seat, seat.start, charged, ofTenant)
    if seat.R then serveSeat(t, freeStart(t), charged, ofTenant) end
    job.charged, job.ge, job.te = charged, seat.vepoch, (seat.R or S).vepoch
    g.held = g.held + 1
    t.held = t.held + 1
    S.held = S.held + 1
    if not seat.R then return end
    job.resource, job.fe = seat.R.name, S.vepoch
    seat.R.held = seat.R.held + 1
  end

  function endIdleEpochs(t)
    if t.laneJobs == 0 and t.held == 0 then
      t.virtual = 0
      t.vepoch = t.vepoch + 1
      local seats = seatsOf(t)
      for n = 1, #seats do seats[n].virtual, seats[n].vepoch = 0, seats[n].vepoch + 1 end
    end
    if S.laneJobs == 0 and S.held == 0 then
      S.virtual = 0
      S.vepoch = S.vepoch + 1
      Lines.endEpoch()
    end
  end

  local function shift(seat, by)
    seat.finish = seat.finish + by
    if not seat.fair then return end
    seat.start = seat.start + by
    putSeat(seat)
  end

  local function correct(g, t, job, real)
    local R = job.resource and resource(job.resource)
    local seat = R and seatIn(t, R) or t
    local function difference(epoch, clock, weight)
      return epoch == clock.vepoch and (math.max(0, real) - job.charged) / weight or 0
    end
    local by = difference(job.ge, seat, groupWeight(g))
    if not seat.R then
      g.finish = g.finish + by
    elseif g.aw == seat.R.name then
      g.af = g.af + by
    end
    if g.fair and seatAt(g, t) == seat then
      g.start = g.start + by
      putGroup(g, seat)
    end
    local weight = tenantWeight(t)
    shift(seat, difference(job.te, seat.R or S, weight))
    if seat.R then shift(t, difference(job.fe, S, weight)) end
  end

  -- Gives the cap slot of a job back; `real` is what its turn should have been charged, nil leaves it.
  function endTurn(g, job, real)
    local t = tenant(g.tenantId)
    g.held = g.held - 1
    t.held = t.held - 1
    S.held = S.held - 1
    local R = job.resource and resource(job.resource)
    if R then
      R.held = R.held - 1
      if (R.concurrency or real == 0) and firstOf(lineOf(R)) then announceTurn() end
    end
    if real then
      correct(g, t, job, real)
      if real == 0 then forgetParking(g) end
    end
    refresh(g, t)
    endIdleEpochs(t)
  end

  -- Both tags of something that stands in a line, or would.
  local function rescaled(finish, start, epoch, clock, factor)
    if factor == 1 or epoch ~= clock.vepoch then return finish, start end
    local virtual = clock.virtual
    if finish > virtual then finish = virtual + (finish - virtual) * (factor / 1) end
    if start > virtual then start = virtual + (start - virtual) * (factor / 1) end
    return finish, start
  end

  local function rescaleGroup(g, t, factor)
    local freeStart, awayStart
    g.finish, freeStart = rescaled(g.finish, g.start, g.epoch, t, factor)
    local R = g.aw and resource(g.aw)
    if R then g.af, awayStart = rescaled(g.af, g.start, g.ae, seatIn(t, R), factor) end
    if not g.fair then return end
    g.start = g.at and awayStart or freeStart
    putGroup(g, seatAt(g, t))
  end

  function reweigh(g, t, change)
    local groupBefore = g and groupWeight(g)
    local tenantBefore = tenantWeight(t)
    change()
    if g then rescaleGroup(g, t, groupBefore / groupWeight(g)) end
    local factor = tenantBefore / tenantWeight(t)
    for _, seat in ipairs({t, unpack(seatsOf(t))}) do
      local start
      seat.finish, start = rescaled(seat.finish, seat.start, seat.epoch, seat.R or S, factor)
      if seat.fair then
        seat.start = start
        putSeat(seat)
      end
    end
  end
end
