-- purpose:   how fast a called service may be called; the same operations in the same order as src/rules/congestion.ts.
-- guarantee: pure.
-- defines:   Congestion: new(), known(accepted), onStart(c), onAccepted(c, startedMs), onThrottle(c, startedMs, retryAfterMs), limitAt(c, initialRps) → rps
--            or nil, frozenUntilMs; rateAt(c), isLearnt(c).
-- cost:      O(1).

-- include: settings
local Congestion = {}
do
  local RPS_MIN, EPOCH_MS, KEPT, GROWTH_MIN, GROWTH_MAX, GROWTH_GUESSING = 1, 1000, 0.98, 0.03, 0.5, 0.7
  local NEAR, GROWTH_NEAR, SLOT_MS, GROWTH_DOUBLES_MS, GROWTH_KEPT, GROW_EVERY_MS = 0.8, 0.06, 250, 200, 0.125, 50
  local PATIENCE_STARTS, PATIENCE_MAX_MS, PATIENCE_PER_FREEZE, PATIENCE_FROZEN_MAX_MS = 20, 5000, 5, 30000
  local MISSES_MAX, TRICKLE, DROUGHT_MS, OUTAGE_MS, IMPLAUSIBLE = 3, 0.125, 500, 1000, 0.25
  local EVIDENCE_REFUSED, EVIDENCE_PART = 5, 6

  function Congestion.new()
    return {rps = 0, ceilingRps = 0, growth = GROWTH_MIN, cutAtMs = 0, tries = 0, refused = 0, quietFromMs = 0, grownAtMs = 0,
      frozenAtMs = 0, frozenForMs = 0, misses = 0, missingFromMs = 0, probeAccepted = 0, probeDue = 0, slotMs = 0, slot0 = 0,
      slot1 = 0, slot2 = 0, slot3 = 0, slot4 = 0}
  end

  local function moveOn(c)
    c.cutAtMs = math.min(c.cutAtMs, atMs)
    c.quietFromMs = math.min(c.quietFromMs, atMs)
    c.grownAtMs = math.min(c.grownAtMs, atMs)
    c.frozenAtMs = math.min(c.frozenAtMs, atMs)
    c.missingFromMs = math.min(c.missingFromMs, atMs)
    local slotMs = math.floor(atMs / SLOT_MS) * SLOT_MS
    if slotMs < c.slotMs or slotMs - c.slotMs > 4 * SLOT_MS then
      c.slot0, c.slot1, c.slot2, c.slot3, c.slot4 = 0, 0, 0, 0, 0
      c.slotMs = slotMs
    end
    while c.slotMs < slotMs do
      c.slot4, c.slot3, c.slot2, c.slot1, c.slot0 = c.slot3, c.slot2, c.slot1, c.slot0, 0
      c.slotMs = c.slotMs + SLOT_MS
    end
  end

  local function acceptedPerSecond(c)
    local left = math.max(0, math.min(1, 1 - (atMs - c.slotMs) / SLOT_MS))
    return math.max(0, c.slot0 + c.slot1 + c.slot2 + c.slot3 + c.slot4 * left)
  end

  -- Also of one that has not changed for long.
  function Congestion.rateAt(c)
    moveOn(c)
    return acceptedPerSecond(c)
  end

  -- As new(), but known what was accepted until now.
  function Congestion.known(accepted)
    local c = Congestion.new()
    moveOn(c)
    c.slot3 = accepted
    return c
  end

  -- From a throttle, not only as a cautious begin.
  function Congestion.isLearnt(c)
    return c.rps > 0 and c.ceilingRps > 0
  end

  local function cut(c, rps)
    c.ceilingRps = c.rps
    c.rps = math.max(RPS_MIN, rps)
    c.growth = math.max(GROWTH_MIN, c.growth * GROWTH_KEPT)
    c.cutAtMs, c.quietFromMs, c.grownAtMs = atMs, atMs, atMs
    c.tries, c.refused, c.misses, c.probeDue = 0, 0, 0, 0
  end

  local function cutToAccepted(c, afterPause)
    local accepted = acceptedPerSecond(c)
    if not afterPause then
      cut(c, math.min(c.rps, KEPT * accepted))
    elseif accepted >= 1 then
      cut(c, math.min(c.rps, math.max(KEPT * accepted, c.rps / 2)))
    end
  end

  local function cutBelow(c, rps)
    cut(c, rps)
    c.ceilingRps = c.rps
  end

  local function isPatient(c)
    if c.tries < PATIENCE_STARTS and atMs - c.cutAtMs < PATIENCE_MAX_MS then return true end
    local waitMs = math.min(PATIENCE_FROZEN_MAX_MS, PATIENCE_PER_FREEZE * c.frozenForMs)
    return atMs < c.frozenAtMs + c.frozenForMs + waitMs
  end

  local function grow(c)
    local spanMs = atMs - c.grownAtMs
    if c.rps == 0 or spanMs < GROW_EVERY_MS then return end
    c.grownAtMs = atMs
    if c.misses >= MISSES_MAX then return end
    if (acceptedPerSecond(c) + 1) * 2 < c.rps then
      if c.ceilingRps > 0 and c.rps > 2 * c.ceilingRps then
        c.rps, c.growth, c.misses, c.probeDue = 0, GROWTH_MIN, 0, 0
      end
      return
    end
    if c.growth < GROWTH_GUESSING then
      if isPatient(c) then
        c.quietFromMs = atMs
        return
      end
      if c.rps >= NEAR * c.ceilingRps and c.rps < c.ceilingRps then
        c.growth = math.min(c.growth, GROWTH_NEAR)
        c.quietFromMs = atMs
      end
      while c.growth < GROWTH_MAX and atMs - c.quietFromMs >= GROWTH_DOUBLES_MS do
        c.growth = math.min(GROWTH_MAX, c.growth * 2)
        c.quietFromMs = c.quietFromMs + GROWTH_DOUBLES_MS
      end
    end
    c.rps = c.rps * (1 + (c.growth * math.min(spanMs, 1000)) / 1000)
  end

  function Congestion.onStart(c)
    moveOn(c)
    if c.probeDue == 1 then
      c.probeAccepted = acceptedPerSecond(c)
      c.probeDue = 0
    end
    c.tries = c.tries + 1
    c.slot0 = c.slot0 + 1
  end

  local function endDrought(c, lastedMs)
    local rps = KEPT * c.probeAccepted
    if lastedMs >= OUTAGE_MS or rps < c.rps * IMPLAUSIBLE then
      cutBelow(c, c.rps / 2)
      c.growth = GROWTH_GUESSING
    elseif lastedMs >= DROUGHT_MS then
      cutBelow(c, rps)
    else
      c.rps = math.max(RPS_MIN, math.min(c.rps, rps))
    end
  end

  function Congestion.onAccepted(c, startedMs)
    moveOn(c)
    grow(c)
    if c.rps == 0 or c.misses == 0 then return end
    if startedMs < c.cutAtMs or startedMs < c.missingFromMs then return end
    if c.misses >= MISSES_MAX then endDrought(c, startedMs - c.missingFromMs) end
    c.misses, c.probeDue = 0, 0
  end

  local function freeze(c, forMs)
    if atMs + forMs <= c.frozenAtMs + c.frozenForMs then return end
    c.frozenAtMs, c.frozenForMs = atMs, forMs
  end

  function Congestion.onThrottle(c, startedMs, retryAfterMs)
    moveOn(c)
    grow(c)
    c.slot0 = c.slot0 - 1
    local afterPause = c.frozenForMs > 0 and atMs - (c.frozenAtMs + c.frozenForMs) < EPOCH_MS
    if retryAfterMs and retryAfterMs > 0 then freeze(c, retryAfterMs) end
    if c.rps == 0 then
      local guessed = c.slot3 + c.slot4 <= 0
      c.rps = math.max(RPS_MIN, acceptedPerSecond(c))
      cut(c, KEPT * c.rps)
      if guessed then c.growth = GROWTH_GUESSING end
      return
    end
    if startedMs < c.cutAtMs then return end
    if c.misses == 0 then c.missingFromMs = atMs end
    if c.misses < MISSES_MAX then c.refused = c.refused + 1 end
    c.misses = c.misses + 1
    c.quietFromMs = atMs
    if c.misses >= MISSES_MAX then
      if c.misses == MISSES_MAX then c.probeAccepted = acceptedPerSecond(c) end
      c.probeDue = 1
      return
    end
    if atMs - c.cutAtMs >= EPOCH_MS then
      cutToAccepted(c, afterPause)
    elseif c.refused >= EVIDENCE_REFUSED and c.refused * EVIDENCE_PART > c.tries then
      cutBelow(c, c.rps * math.max(0, 1 - c.refused / c.tries))
    end
  end

  local function trickle(c)
    local rps, misses = c.rps * TRICKLE, c.misses
    while misses >= 12 and rps > RPS_MIN do rps, misses = rps / 2, misses - 4 end
    return math.max(RPS_MIN, rps)
  end

  function Congestion.limitAt(c, initialRps)
    moveOn(c)
    if c.rps == 0 and c.ceilingRps == 0 and initialRps > 0 then
      c.rps = math.max(RPS_MIN, initialRps)
      c.growth = GROWTH_GUESSING
      c.grownAtMs = atMs
    end
    grow(c)
    local frozenUntilMs = c.frozenAtMs + c.frozenForMs
    if c.rps == 0 then return nil, frozenUntilMs end
    return c.misses >= MISSES_MAX and trickle(c) or c.rps, frozenUntilMs
  end
end
