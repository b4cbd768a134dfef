-- purpose:   wakes those whom this step concerns.
-- guarantee: called once, at the end: it looks at what the step has left.
-- defines:   wake().
-- cost:      O(instances).

-- include: mark
-- include: bound
local wake
do
  function wake()
    if rings.turn then
      local waiting = slots().waiting
      if waiting > 0 then rings.work = true end
      if S.laneJobs > waiting and S.readyJobs < readyBound() then rings.fetch = true end
      rings.turn = nil
    end
    for kind in pairs(rings) do mark(base .. 'w:' .. kind, 1) end
  end
end
