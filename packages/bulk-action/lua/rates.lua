-- purpose:   the generic cell rate algorithm; the same operations in the same order as src/rules/gcra.ts.
-- guarantee: pure.
-- defines:   emptyTat(rps), bucketOf(scope), globalBucket(), nextSlotUs(bucket, cost, heldCost), spend(bucket, cost),
--            rescale(bucket, rps, burst), slotOf(bucket, cost, heldCost).
-- cost:      O(1).

-- include: records
local emptyTat, bucketOf, globalBucket, spend, rescale, slotOf
do
  local function defaultBurst(rps)
    return math.max(1, math.floor(rps / 10))
  end

  local function emissionUs(rps)
    return math.ceil(1000000 / rps)
  end

  -- Of a bucket whose burst has just been spent.
  function emptyTat(rps)
    return atUs + defaultBurst(rps) * emissionUs(rps)
  end

  function bucketOf(scope)
    local rps = scope.rps
    if not rps then return nil end
    return {rps = rps, burst = scope.burst or defaultBurst(rps), tat = scope.tat}
  end

  local engineBucket
  function globalBucket()
    local rps = C.globalRps
    if rps == 0 then return nil end
    engineBucket = engineBucket or {rps = rps, burst = C.burst or defaultBurst(rps)}
    engineBucket.tat = S.tat
    return engineBucket
  end

  local function clampedTat(b)
    local debtMaxUs = (b.burst + C.costMax) * emissionUs(b.rps)
    if b.tat - atUs > debtMaxUs then return atUs end
    return math.max(atUs, b.tat)
  end

  local function nextSlotUs(b, cost, heldCost)
    local emission = emissionUs(b.rps)
    local tat = clampedTat(b) + heldCost * emission
    return tat - (b.burst - math.min(cost, b.burst)) * emission
  end

  function spend(b, cost)
    return clampedTat(b) + cost * emissionUs(b.rps)
  end

  function rescale(b, rps, burst)
    local spent = (clampedTat(b) - atUs) / emissionUs(b.rps)
    local debt = math.max(0, spent - b.burst)
    return atUs + math.ceil((math.min(spent, b.burst, burst) + debt) * emissionUs(rps))
  end

  function slotOf(b, cost, heldCost)
    if not b then return 0 end
    return nextSlotUs(b, cost, heldCost)
  end
end
