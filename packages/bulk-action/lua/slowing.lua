-- purpose:   congestion control of resources and groups, as src/memory/congestion.ts; who is slowed as src/rules/attribution.ts,
--            how long a throttled job waits as src/rules/throttle-backoff.ts.
-- guarantee: changes records only; `save` writes them.
-- defines:   Slowing: updateLimits(R), updateSlowness(g), slowSlot(g, cost, heldCost), noteStart(g, job, type), noteEnd(g, job, kind, code, durationMs),
--            noteThrottle(g, job, retryAfterMs, random) → backoffMs, delayMs.
-- cost:      O(1).

-- include: rates
-- include: resources
-- include: window
-- include: vegas
-- include: history
-- include: activity
local Slowing = {}
do
  local GROUPS_LEAST, GROUPS_PART, SPREAD = 3, 0.3, 0.5
  local TRIAL_MS, TRIAL_REFUSED, TRIAL_EXPECTED, OTHERS_PART = 10000, 3, 8, 0.1

  local function tatAfterPause(untilMs, rps)
    return rps and untilMs * 1000 + (emptyTat(rps) - atUs) or 0
  end

  function Slowing.updateLimits(R)
    local before = R.learnt
    local rps, frozenUntilMs = Congestion.limitAt(R.c, R.initialRps)
    R.learnt, R.frozen = rps, frozenUntilMs
    R.rps = R.settings.rps
    if rps then R.rps = math.min(R.settings.rps or rps, rps) end
    if R.v then R.concurrency = Vegas.concurrencyAt(R.v, R.settings.concurrency) end
    if rps and not before then R.tat = emptyTat(R.rps) end
    if frozenUntilMs > atMs then R.tat = math.max(R.tat, tatAfterPause(frozenUntilMs, R.rps)) end
    R.limited = R.limitedForGood or rps ~= nil or frozenUntilMs > atMs
    if R.limited then Lines.stand(R) end
  end

  local function slowBucket(slow)
    return slow and bucketOf(slow)
  end

  -- Else all who call the service are slowed together since.
  local function isOwn(slow)
    local R = resource(slow.by)
    return R.known and R.flips == slow.flips
  end

  function Slowing.updateSlowness(g)
    local slow = g.slow
    if not slow then return end
    if not isOwn(slow) then
      g.slow = nil
      return
    end
    slow.rps, slow.frozen = Congestion.limitAt(slow.c, 0)
    if not slow.rps and slow.frozen <= atMs then g.slow = nil end
  end

  function Slowing.slowSlot(g, cost, heldCost)
    local slow = g.slow
    if not slow then return 0 end
    return math.max(slotOf(slowBucket(slow), cost, heldCost), slow.frozen > atMs and slow.frozen * 1000 or 0)
  end

  local function isSpread(a, g)
    countActive(a, g, 'active')
    if g.throttledEpoch ~= a.epoch then
      g.throttledEpoch = a.epoch
      a.throttled = a.throttled + 1
    end
    local active = math.max(a.active, a.activeBefore)
    return math.max(a.throttled, a.throttledBefore) >= math.min(active, math.max(GROUPS_LEAST, GROUPS_PART * active))
  end

  local function countRefusal(g, R)
    local trial = g.trial
    local ageMs = trial and atMs - trial.fromMs
    if not trial or trial.by ~= R.name or ageMs < 0 or ageMs >= TRIAL_MS then
      g.trial = {by = R.name, fromMs = atMs, starts = 0, refused = 0, startsBefore = R.starts, refusedBefore = R.evidence}
    else
      trial.refused = trial.refused + 1
    end
  end

  local function standsOut(trial, R)
    if trial.refused < TRIAL_REFUSED then return false end
    local others = R.starts - trial.startsBefore - trial.starts
    local othersRefused = R.evidence - trial.refusedBefore - trial.refused
    local expected = (trial.refused * others) / math.max(trial.starts, trial.refused)
    return expected >= TRIAL_EXPECTED and othersRefused < OTHERS_PART * expected
  end

  local function isResource(g, R, startedMs)
    local spread = isSpread(R.a, g)
    if not Congestion.isLearnt(R.c) then return spread end
    local isEvidence = startedMs >= R.c.cutAtMs
    if isEvidence then
      R.evidence = R.evidence + 1
      countRefusal(g, R)
    end
    if g.slow and g.slow.by == R.name and isOwn(g.slow) then return false end
    return not (isEvidence and standsOut(g.trial, R))
  end

  function Slowing.noteStart(g, job, processorType)
    if g.throttled > 0 then History.ofGroup(g) end
    local bucket = slowBucket(g.slow)
    if bucket then g.slow.tat = spend(bucket, job.cost) end
    local R = resourceCalled(processorType)
    if not R then return end
    Congestion.onStart(R.c)
    R.starts = R.starts + 1
    History.ofResource(R)
    countActive(R.a, g, 'active')
    if g.slow then Congestion.onStart(g.slow.c) end
    if g.trial and g.trial.by == R.name then g.trial.starts = g.trial.starts + 1 end
  end

  function Slowing.noteEnd(g, job, kind, code, durationMs)
    local R = resourceCalled(job.t)
    if not R then return end
    if R.v and kind == 'success' then Vegas.onLatency(R.v, durationMs, R.held) end
    if kind ~= 'success' then
      if code == 'JOB_TIMEOUT' then
        if R.v then Vegas.onTimeout(R.v) end
        return
      end
      -- These have not called the service.
      if code == 'PROCESSOR_NOT_FOUND' or code == 'LEASE_LOST' then return end
    end
    if R.c.rps > 0 then Congestion.onAccepted(R.c, job.since) end
    if g.slow then Congestion.onAccepted(g.slow.c, job.since) end
  end

  local function slowGroup(g, R, startedMs, retryAfterMs)
    local isNew = not g.slow
    g.slow = g.slow or {c = Congestion.known(ratePerSecond(g)), frozen = 0, tat = 0}
    local slow = g.slow
    slow.by, slow.flips = R.name, R.flips
    Congestion.onThrottle(slow.c, startedMs, retryAfterMs)
    slow.rps, slow.frozen = Congestion.limitAt(slow.c, 0)
    if isNew and slow.rps then slow.tat = emptyTat(slow.rps) end
    if slow.frozen > atMs then slow.tat = math.max(slow.tat, tatAfterPause(slow.frozen, slow.rps)) end
  end

  local function shareOf(g, R)
    if g.slow and g.slow.rps then return g.slow.rps end
    if not R or not R.rps then return ratePerSecond(g) end
    return R.rps / math.max(1, R.a.active, R.a.activeBefore)
  end

  function Slowing.noteThrottle(g, job, retryAfterMs, random)
    local R = resourceCalled(job.t)
    if R then
      R.throttles = R.throttles + 1
      R.pointThrottles = (R.pointThrottles or 0) + 1
      if isResource(g, R, job.since) then
        if not Congestion.isLearnt(R.c) then R.flips = R.flips + 1 end
        g.slow = nil
        Congestion.onThrottle(R.c, job.since, retryAfterMs)
        Slowing.updateLimits(R)
      else
        slowGroup(g, R, job.since, retryAfterMs)
      end
      History.ofResource(R)
    end
    local backoffMs
    if retryAfterMs then
      backoffMs = math.ceil(retryAfterMs)
    else
      local seconds = math.floor(g.nonReady / math.max(1, shareOf(g, R)))
      backoffMs = math.min(C.congestion.maxBackoffMs, C.congestion.baseBackoffMs + seconds * 1000)
    end
    return backoffMs, math.ceil(backoffMs * (1 + SPREAD * random))
  end
end
