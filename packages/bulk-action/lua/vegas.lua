-- purpose:   how many calls a service may have at once; the same operations in the same order as src/rules/vegas.ts.
-- guarantee: pure.
-- defines:   Vegas: new(), onLatency(v, rttMs, inFlight), onTimeout(v), concurrencyAt(v, most).
-- cost:      O(1).

-- include: settings
local Vegas = {}
do
  local LIMIT_START, RTT_WINDOW_MS, QUEUE_LOW, QUEUE_HIGH, TIMEOUT_KEPT, TIMEOUT_EPOCH_MS = 10, 10000, 3, 6, 0.9, 1000
  local STEP_MIN, STEP_MAX, DRAIN_PART, DRAIN_ROUNDS, DRAIN_MAX_MS = 0.002, 0.1, 0.8, 2, 2000

  function Vegas.new()
    return {limit = LIMIT_START, doubling = 1, rtt50Ms = 0, step = STEP_MAX, direction = 0, minMs = 0, minBeforeMs = 0,
      windowAtMs = 0, drainUntilMs = 0, round = 0, cutAtMs = 0}
  end

  local function flowing(v)
    local shortest = v.minMs
    if shortest == 0 then
      shortest = v.minBeforeMs
    elseif v.minBeforeMs ~= 0 then
      shortest = math.min(v.minMs, v.minBeforeMs)
    end
    if shortest == 0 or v.rtt50Ms <= shortest then return 1 end
    return shortest / v.rtt50Ms
  end

  local function turnWindow(v)
    if v.windowAtMs == 0 then v.windowAtMs = atMs end
    local ageMs = atMs - v.windowAtMs
    if ageMs >= 0 and ageMs < RTT_WINDOW_MS then return end
    v.windowAtMs = atMs
    v.minBeforeMs, v.minMs = v.minMs, 0
    v.drainUntilMs = atMs + math.min(DRAIN_MAX_MS, DRAIN_ROUNDS * v.rtt50Ms)
  end

  local function moveMedian(v, rttMs)
    if v.rtt50Ms == 0 then
      v.rtt50Ms = rttMs
      return
    end
    local direction = rttMs > v.rtt50Ms and 1 or -1
    if direction == v.direction then
      v.step = math.min(STEP_MAX, v.step * 1.5)
    else
      v.step = math.max(STEP_MIN, v.step * 0.5)
    end
    v.direction = direction
    if direction == 1 then
      v.rtt50Ms = math.min(rttMs, v.rtt50Ms * (1 + v.step))
    else
      v.rtt50Ms = math.max(rttMs, v.rtt50Ms / (1 + v.step))
    end
  end

  local function adjust(v, inFlight)
    local queued = v.limit * (1 - flowing(v))
    if queued >= QUEUE_LOW then v.doubling = 0 end
    if queued > QUEUE_HIGH then
      v.limit = math.max(1, v.limit - math.max(1, (queued - QUEUE_HIGH) / 2))
    elseif queued < QUEUE_LOW and inFlight * 2 >= v.limit then
      local more = (v.limit * (1 - queued / QUEUE_LOW)) / 10
      v.limit = v.limit + (v.doubling == 1 and v.limit or math.max(1, more))
    end
  end

  function Vegas.onLatency(v, rttMs, inFlight)
    local rtt = math.max(0.1, rttMs)
    turnWindow(v)
    v.minMs = v.minMs == 0 and rtt or math.min(v.minMs, rtt)
    moveMedian(v, rtt)
    v.round = v.round + 1
    if v.round < math.max(2, v.limit) then return end
    v.round = 0
    if atMs < v.drainUntilMs then return end
    adjust(v, inFlight)
  end

  function Vegas.onTimeout(v)
    v.cutAtMs = math.min(v.cutAtMs, atMs)
    v.doubling = 0
    if v.cutAtMs > 0 and atMs - v.cutAtMs < TIMEOUT_EPOCH_MS then return end
    v.cutAtMs = atMs
    v.limit = math.max(1, v.limit * TIMEOUT_KEPT)
  end

  function Vegas.concurrencyAt(v, most)
    local draining = atMs < v.drainUntilMs and v.drainUntilMs - atMs <= DRAIN_MAX_MS
    local limit = draining and v.limit * flowing(v) * DRAIN_PART or v.limit
    local whole = math.max(1, math.floor(limit))
    return most and math.max(1, math.min(most, whole)) or whole
  end
end
