-- purpose:   how many jobs ready may hold, as src/rules/ready-bound.ts.
-- guarantee: pure but for what it reads of the instances.
-- defines:   readyBound().
-- cost:      O(instances), once in a script.

-- include: window
-- include: alive
local readyBound
do
  function readyBound()
    local s = slots()
    local starts = ratePerSecond(S)
    local wanted
    if starts > 0 or S.flights > 0 then
      wanted = s.waiting + math.ceil((starts * C.readyHorizonMs * 0.5) / 1000)
    else
      wanted = math.max(C.fetchBatchSize, 2 * s.live)
    end
    return math.min(C.readyQueueMaxSize, math.max(1, wanted))
  end
end
