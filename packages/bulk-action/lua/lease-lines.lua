-- purpose:   a lease as it is answered.
-- guarantee: pure.
-- defines:   pushLines(answer, key, tenantId, id, token, r, waitedMs, unusual).
-- cost:      O(1).

-- include: packing
local pushLines
do
  -- 9 values: key id token tenantId type payload createdAt waitedMs and what is not usual: '' or cost retry attempt deadline
  -- traceparent. Whole numbers are written by %d: Lua's own way takes ten times as long.
  function pushLines(answer, key, tenantId, id, token, r, waitedMs, unusual)
    local n = #answer
    answer[n + 1], answer[n + 2], answer[n + 3], answer[n + 4] = key, id, format('%d', token), tenantId
    answer[n + 5], answer[n + 6], answer[n + 7] = r.t, r.p or 'null', format('%d', r.at)
    answer[n + 8], answer[n + 9] = format('%d', math.max(0, waitedMs)), unusual
  end
end
