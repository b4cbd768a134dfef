-- purpose:   the one gate into ready, as src/memory/gate.ts.
-- guarantee: a job enters ready only when it is its group's turn, its caps and rates allow it and ready has room.
-- defines:   nextGroup(looks), newLooks(moves), enterReadyInTurn(g, job), rateSlot(g, cost), LOOKS_MAX.
-- cost:      O(looks × log n); looks are bounded.

-- include: ends
-- include: slowing
local groupSlotOf, LOOKS_MAX, newLooks, rateSlot, nextGroup, enterReadyInTurn
do
  LOOKS_MAX = 256
  local SHARE_SCAN_MAX = 32

  function newLooks(moves)
    return {left = moves + LOOKS_MAX, rejected = 0, globalSlotUs = 0, blocked = {}}
  end

  -- When a group has its token, its own and the one that a service leaves it.
  function groupSlotOf(g, cost, heldCost)
    return math.max(slotOf(bucketOf(g), cost, heldCost), Slowing.slowSlot(g, cost, heldCost))
  end

  function rateSlot(g, cost, R)
    return math.max(slotOf(R and bucketOf(R), cost, 0), groupSlotOf(g, cost, 0), slotOf(bucketOf(tenant(g.tenantId)), cost, 0),
      slotOf(globalBucket(), cost, 0))
  end

  -- Whether a resource lets a job of this cost through now; else it is not asked again in this step.
  local function letsThrough(looks, R, cost)
    Slowing.updateLimits(R)
    local full = R.concurrency and R.held >= R.concurrency
    local slotUs = math.max(slotOf(bucketOf(R), cost, R.readyCost), R.frozen > atMs and R.frozen * 1000 or 0)
    if not full and slotUs <= atUs then return true end
    looks.blocked[R.name] = full and 0 or slotUs
    return false
  end

  -- The seat whose turn it is: the first of a line that is not blocked, and of those the one that is due first among all.
  local function nextSeat(looks)
    local best = topSeat(nil)
    for n = 1, #lines do
      local R = resource(lines[n])
      local seat = not looks.blocked[R.name] and topSeat(R)
      if seat then
        local start, least = freeStart(seat.t), best and freeStart(best.t or best)
        if not best or start < least or (start == least and seat.t.seq <= (best.t or best).seq) then best = seat end
      end
    end
    return best
  end

  -- The group whose turn it is and whose first job may go into ready, with that job.
  local function firstAllowed(looks)
    while looks.left > 0 do
      local seat = nextSeat(looks)
      local g = seat and topGroup(seat)
      local job = g and peekLane(g)
      if not job then return nil end
      local t = seat.t or seat
      local refused = true
      if isOverdue(g, job) then
        job.id = leaveLane(g)
        failOverdue(g, job, false)
        looks.rejected = looks.rejected + 1
      elseif seatWanted(g, t) ~= seat then
        -- What its first job calls has become limited, or is no longer.
        refresh(g, t)
      else
        Slowing.updateSlowness(g)
        local groupSlot = groupSlotOf(g, job.cost, g.readyCost)
        local tenantSlot = slotOf(bucketOf(t), job.cost, t.readyCost)
        if groupSlot > atUs then
          parkGroup(g, groupSlot)
        elseif tenantSlot > atUs then
          parkTenant(g, tenantSlot)
        else
          refused = seat.R and not letsThrough(looks, seat.R, job.cost)
        end
        if refused then looks.rejected = looks.rejected + 1 end
      end
      if not refused then
        looks.globalSlotUs = slotOf(globalBucket(), job.cost, S.readyCost)
        if looks.globalSlotUs > atUs then return nil end
        looks.globalSlotUs = 0
        return g, job
      end
      looks.left = looks.left - 1
    end
    return nil
  end

  function nextGroup(looks)
    if C.maxShare >= 1 then return firstAllowed(looks) end
    local most = math.ceil(C.maxShare * slots().live)
    if most == 0 then return firstAllowed(looks) end
    local passed, found, foundJob = {}, nil, nil
    while #passed < SHARE_SCAN_MAX do
      local g, job = firstAllowed(looks)
      if not g or g.held < most then
        found, foundJob = g, job
        break
      end
      local t = tenant(g.tenantId)
      local seat = seatAt(g, t)
      passed[#passed + 1] = {g = g, job = job, seat = seat, start = g.start, seatStart = seat.start}
      leaveSeat(g, t)
      if seat.fg == 0 and seat.fair then
        dropSeat(seat)
        seat.fair = false
      end
    end
    for n = 1, #passed do
      local one = passed[n]
      local seat = one.seat
      one.g.start = one.start
      enterSeat(one.g, seat)
      if not seat.fair then
        seat.start = one.seatStart
        seat.fair = true
      end
      putSeat(seat)
    end
    if found or S.readyJobs >= slots().waiting then return found, foundJob end
    local least = passed[1]
    for n = 2, #passed do
      if passed[n].g.held < least.g.held then least = passed[n] end
    end
    if least then return least.g, least.job end
    return nil
  end

  -- The first job of its lane goes into ready if it is its group's turn and there is room.
  function enterReadyInTurn(g, job)
    if S.readyJobs >= readyBound() then return false end
    if nextGroup(newLooks(0)) ~= g then return false end
    local first = firstOfLane(g)
    if first.id ~= job.id then return false end
    laneToReady(g, first)
    return true
  end
end
