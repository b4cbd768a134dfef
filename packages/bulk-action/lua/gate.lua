-- purpose:   the one gate into ready, as src/memory/gate.ts.
-- guarantee: a job enters ready only when it is its group's turn, its caps and rates allow it and ready has room.
-- defines:   nextGroup(looks), newLooks(moves), enterReadyInTurn(g, job), rateSlot(g, cost), LOOKS_MAX.
-- cost:      O(looks × log n); looks are bounded.

-- include: ends
local LOOKS_MAX, newLooks, rateSlot, nextGroup, enterReadyInTurn
do
  LOOKS_MAX = 256
  local SHARE_SCAN_MAX = 32

  function newLooks(moves)
    return {left = moves + LOOKS_MAX, rejected = 0, globalSlotUs = 0}
  end

  function rateSlot(g, cost)
    return math.max(slotOf(bucketOf(g), cost, 0), slotOf(bucketOf(tenant(g.tenantId)), cost, 0),
      slotOf(globalBucket(), cost, 0))
  end

  -- The group whose turn it is and whose first job may go into ready, with that job.
  local function firstAllowed(looks)
    while looks.left > 0 do
      local t = topTenant()
      local g = t and topGroup(t)
      local job = g and peekLane(g)
      if not job then return nil end
      local refused = true
      if isOverdue(g, job) then
        job.id = leaveLane(g)
        failOverdue(g, job, false)
      else
        local groupSlot = slotOf(bucketOf(g), job.cost, g.readyCost)
        local tenantSlot = slotOf(bucketOf(t), job.cost, t.readyCost)
        if groupSlot > atUs then
          parkGroup(g, groupSlot)
        elseif tenantSlot > atUs then
          parkTenant(g, tenantSlot)
        else
          refused = false
        end
      end
      if refused then
        looks.rejected = looks.rejected + 1
      else
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
      passed[#passed + 1] = {g = g, job = job, start = g.start, tenantStart = t.start}
      dropGroup(g, t)
      g.fair = false
      t.fg = t.fg - 1
      if t.fg == 0 and t.fair then
        dropTenant(t)
        t.fair = false
      end
    end
    for n = 1, #passed do
      local one = passed[n]
      local g, t = one.g, tenant(one.g.tenantId)
      g.start = one.start
      g.fair = true
      t.fg = t.fg + 1
      putGroup(g, t)
      if not t.fair then
        t.start = one.tenantStart
        t.fair = true
      end
      putTenant(t)
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
