-- purpose:   a job comes back from flight without a result.
-- guarantee: its tries are kept; it is in ready, in its lane, or ended with its round.
-- defines:   returnFlight(g, job) → r | l | c.
-- cost:      O(log n).

-- include: gate
-- include: flights
local returnFlight
do
  function returnFlight(g, job)
    local s = triesOf(job)
    if not isLive(g, job.round) then
      leaveFlight(g, job)
      bury(g, job, true, measured(atMs - job.since), s)
      return 'c'
    end
    g.tried = true
    flightToLane(g, job)
    redis.call('HSET', base .. 's:' .. g.key, job.id, mpack(s))
    return enterReadyInTurn(g, job) and 'r' or 'l'
  end
end
