-- purpose:   where a job is, from the entries themselves.
-- guarantee: reads only.
-- defines:   placeOf(g, id, r) → place, due time (non-ready), scheduled, ready index, ready entry; readyChanged(): to be called by who has changed ready.
-- cost:      O(log n), and O(ready) once in a call for all jobs that are in their lanes or ready.

-- include: waiting
local placeOf, readyChanged
do
  local entries, byName, looks

  function readyChanged()
    entries, byName, looks = nil, nil, 0
  end
  readyChanged()

  -- One job is looked for in the texts; before a second one all entries are read, once: a page of jobs times ready would stall everybody.
  local function inReady(g, id, name)
    entries = entries or redis.call('LRANGE', base .. 'ready', 0, -1)
    looks = looks + 1
    if looks == 2 then
      byName = {}
      for n = #entries, 1, -1 do
        local job = readReady(entries[n])
        if job then byName[job.key .. '/' .. job.id] = {n - 1, job} end
      end
    end
    if byName then
      local found = byName[name] or {}
      return found[1], found[2]
    end
    for n = 1, #entries do
      if string.find(entries[n], id, 1, true) then
        local job = readReady(entries[n])
        if job and job.key == g.key and job.id == id then return n - 1, job end
      end
    end
  end

  function placeOf(g, id, r)
    if r.k then return r.k == 'X' and 'DEAD' or 'DONE' end
    local name = g.key .. '/' .. id
    if isInFlight(name) then return 'IN_FLIGHT' end
    local due = redis.call('ZSCORE', base .. 'nr', name)
    if due then return 'NON_READY', tonumber(due), false end
    due = redis.call('ZSCORE', base .. 'sched', name)
    if due then return 'NON_READY', tonumber(due), true end
    local at, job = inReady(g, id, name)
    if at then return 'READY', nil, false, at, job end
    return 'LANE'
  end
end
