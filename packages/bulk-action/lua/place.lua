-- purpose:   where a job is, from the entries themselves.
-- guarantee: reads only.
-- defines:   placeOf(g, id, r) → place, due time (non-ready), scheduled, ready index, ready entry.
-- cost:      O(log n), and O(ready) for a job that is in its lane or ready.

-- include: waiting
local placeOf
do
  function placeOf(g, id, r)
    if r.k then return r.k == 'X' and 'DEAD' or 'DONE' end
    local name = g.key .. '/' .. id
    if isInFlight(name) then return 'IN_FLIGHT' end
    local due = redis.call('ZSCORE', base .. 'nr', name)
    if due then return 'NON_READY', tonumber(due), false end
    due = redis.call('ZSCORE', base .. 'sched', name)
    if due then return 'NON_READY', tonumber(due), true end
    local entries = redis.call('LRANGE', base .. 'ready', 0, -1)
    for n = 1, #entries do
      if string.find(entries[n], id, 1, true) then
        local job = readReady(entries[n])
        if job and job.key == g.key and job.id == id then return 'READY', nil, false, n - 1, job end
      end
    end
    return 'LANE'
  end
end
