-- purpose:   events per second over the last two seconds; the same as src/rules/rate-window.ts, in the fields wa wc wp wf.
-- guarantee: pure.
-- defines:   countEvents(record, amount), countEventsAt(record, wa, wc, wp, wf, amount), ratePerSecond(record).
-- cost:      O(1).

-- include: records
local countEvents, countEventsAt, ratePerSecond
do
  -- By the names or places where a record keeps these four; 0 stands for none.
  function countEventsAt(r, wa, wc, wp, wf, amount)
    local at, since = math.floor(atMs / 2000) * 2000, r[wa] or 0
    if since == 0 or at < since then
      r[wf] = atMs
      r[wc] = 0
      r[wp] = 0
    elseif at > since then
      r[wp] = (at == since + 2000) and r[wc] or 0
      r[wc] = 0
    end
    r[wa] = at
    r[wc] = r[wc] + amount
  end

  function countEvents(r, amount)
    countEventsAt(r, 'wa', 'wc', 'wp', 'wf', amount)
  end

  function ratePerSecond(r)
    local at = math.floor(atMs / 2000) * 2000
    if not r.wa or at < r.wa or at > r.wa + 2000 then return 0 end
    local left = 1 - (atMs - at) / 2000
    local events
    if at == r.wa then events = r.wp * left + r.wc else events = r.wc * left end
    local spanMs = math.min(2000, math.max(100, atMs - r.wf))
    return (events * 1000) / spanMs
  end
end
