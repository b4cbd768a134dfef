-- purpose:   how many groups call a service in a second, as src/rules/attribution.ts.
-- guarantee: changes records only; `save` writes them.
-- defines:   countActive(a, g, active).
-- cost:      O(1).

-- include: settings
local countActive
do
  local function turnEpoch(a)
    local epoch = math.floor(atMs / 1000) + 1
    if epoch == a.epoch then return end
    local follows = epoch == a.epoch + 1
    a.activeBefore = follows and a.active or 0
    a.throttledBefore = follows and a.throttled or 0
    a.active, a.throttled, a.epoch = 0, 0, epoch
  end

  -- `active` is where the group keeps it.
  function countActive(a, g, active)
    turnEpoch(a)
    if g[active] == a.epoch then return end
    g[active] = a.epoch
    a.active = a.active + 1
  end
end
