-- purpose:   the lanes: the jobs of a group in order.
-- guarantee: reads only.
-- defines:   laneEntry(g, job), readLane(g, entry), firstOfLane(g), firstTypeOf(g),
--            peekLane(g).
-- cost:      O(1).

-- include: resources
-- include: jobs
-- include: lane-keys
local laneEntry, readLane, firstOfLane, firstTypeOf, peekLane
do
  -- What is usual needs no more than its id; `odd` counts the others in the lane.
  function laneEntry(g, job)
    if job.cost == 1 and not job.charge and not job.deadline and not job.waiting then return job.id end
    g.odd = g.odd + 1
    return table.concat({job.id, job.cost, job.charge or '-', job.deadline or '-', job.waiting or '-'}, '\t')
  end

  -- With room for what reserve adds: a table that grows costs more than all its fields.
  local function usualJob(g, id)
    return {key = g.key, id = id, cost = 1, round = g.round, charged = 0, ge = 0, te = 0, token = 0, since = 0, instance = '',
      tried = false, retry = 0, orphan = 0, attempts = 1, suspect = false}
  end

  function readLane(g, entry)
    if not find(entry, '\t', 1, true) then return usualJob(g, entry) end
    local id, cost, charge, deadline, waiting = string.match(entry, '^([^\t]+)\t([^\t]+)\t([^\t]+)\t([^\t]+)\t(.+)$')
    return {key = g.key, id = id, cost = tonumber(cost), charge = tonumber(charge), deadline = tonumber(deadline),
      waiting = tonumber(waiting), round = g.round}
  end

  function firstOfLane(g)
    local entry = redis.call('LINDEX', laneKey(g), 0)
    local job = entry and readLane(g, entry)
    -- What it calls decides in which line it waits.
    if job and #lines > 0 then job.t = (recordOf(g.key, job.id) or {}).t or '' end
    return job
  end

  function firstTypeOf(g)
    local first = firstOfLane(g)
    return first and first.t or ''
  end

  -- The first job of a lane; which one it is, is known once it has left when all in the lane are usual.
  function peekLane(g)
    if g.odd == 0 and #lines == 0 then return g.lane > 0 and usualJob(g) or nil end
    return firstOfLane(g)
  end
end
