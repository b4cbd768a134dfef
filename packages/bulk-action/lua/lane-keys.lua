-- purpose:   where the jobs of a group wait.
-- guarantee: reads only.
-- defines:   laneKeys (of this step, by group), laneKeyOf(key, round), laneKey(g).
-- cost:      O(1).

-- include: settings
local laneKeys, laneKeyOf, laneKey
do
  laneKeys = {}

  function laneKeyOf(key, round)
    return base .. 'l:' .. key .. ':' .. round
  end

  function laneKey(g)
    local key = laneKeys[g]
    if not key then
      key = laneKeyOf(g.key, g.round)
      laneKeys[g] = key
    end
    return key
  end
end
