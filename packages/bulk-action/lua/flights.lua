-- purpose:   jobs under a lease.
-- guarantee: the entry itself holds what its end needs; counters change only with it.
-- defines:   damagedFlight(key, id, r), triesOf(job), pushLease(answer, g, job, r), tenantNameOf(key).
-- cost:      O(1).

-- include: ends
-- include: lease-lines
local damagedFlight, triesOf, pushLease, tenantNameOf
do
  -- The lease of a damaged entry, as far as it is known.
  function damagedFlight(key, id, r)
    return {key = key, id = id, instance = '', token = 0, since = atMs, charged = 0, ge = -1, te = -1, round = r.rd, attempts = 1,
      retry = 0, orphan = 0, cost = r.c, charge = r.ch, deadline = r.dl, tried = true,
      resource = (limitedResource(r.t) or {}).name}
  end

  -- The state of the tries of a job in flight, for its next place.
  function triesOf(job)
    local s = job.tried and stateOf(job.key, job.id)
    if not s then
      return {r = job.retry, o = job.orphan, a = job.attempts, sa = job.since, st = nil, sj = nil, sg = nil}
    end
    s.r, s.o, s.a, s.sa = job.retry, job.orphan, job.attempts, job.since
    s.rs = nil
    return s
  end

  function pushLease(answer, g, job, r)
    local deadline = deadlineOf(g, job)
    local trace = r.tp or g.trace
    local unusual = ''
    if r.c ~= 1 or job.attempts ~= 1 or job.retry ~= 0 or deadline or trace then
      unusual = table.concat({r.c, job.retry, job.attempts, deadline or '-', trace or '-'}, ' ')
    end
    pushLines(answer, g.key, g.tenantId, job.id, job.token, r, job.since - (job.waiting or r.at), unusual)
  end

  function tenantNameOf(key)
    return string.match(key, '^([^/]*)/')
  end
end
