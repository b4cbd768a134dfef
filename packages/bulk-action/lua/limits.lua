-- purpose:   new limits of a group or a tenant, as `updateLimits` in src/memory/groups.ts.
-- guarantee: the debt of a bucket stays what it was, in starts; what a limit held back is looked at again at once.
-- defines:   changed(value), updateLimits(scope, rps, burst, concurrency).
-- cost:      O(log n).

-- include: moves
local changed, updateLimits
do
  -- '=' leaves a value, '-' takes it away.
  function changed(current, value)
    if value == '=' then return current end
    if value == '-' then return nil end
    return tonumber(value)
  end

  function updateLimits(scope, rps, burst, concurrency)
    local before = bucketOf(scope)
    scope.rps = changed(scope.rps, rps)
    scope.burst = changed(scope.burst, burst)
    scope.concurrency = changed(scope.concurrency, concurrency)
    local after = bucketOf(scope)
    if before and after and (after.rps ~= before.rps or after.burst ~= before.burst) then
      scope.tat = rescale(before, after.rps, after.burst)
    end
    if scope.parked then
      if scope.key then unparkGroup(scope) else unparkTenant(scope) end
    end
    ring('fetch')
  end
end
