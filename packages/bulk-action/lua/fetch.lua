-- purpose:   fair queue → ready, as far as gate and ready bound allow.
-- guarantee: a repeat moves what comes next; nothing is moved twice.
-- KEYS:      meta
-- ARGV:      settings max
-- returns:   {ready, rejected, room, nextInMs or -1}
-- cost:      O((max + 256) × log n).

-- include: when-full
-- include: gate
local max = tonumber(ARGV[2])
local bound = readyBound()
turnsWanted = math.max(4, math.min(max, bound - S.readyJobs))
local looks = newLooks(max)
unparkDue(LOOKS_MAX)
local ready = 0
while ready < max and S.readyJobs < bound do
  local g, job = nextGroup(looks)
  if not g then break end
  laneToReady(g, job)
  ready = ready + 1
end
local room = S.readyJobs < bound
rings.fetch, rings.turn = nil, nil
S.untold = (not room and redis.call('ZCARD', base .. 'parked') > 0) or nil
local nextInMs = -1
if room then
  if looks.left <= 0 then
    nextInMs = 0
  else
    local slotUs = looks.globalSlotUs
    if slotUs == 0 then
      slotUs = tonumber(redis.call('ZRANGE', base .. 'parked', 0, 0, 'WITHSCORES')[2])
      for _, blockedUs in pairs(looks.blocked) do
        if blockedUs > 0 then slotUs = math.min(slotUs or blockedUs, blockedUs) end
      end
    end
    if slotUs then nextInMs = math.max(0, math.ceil((slotUs - atUs) / 1000)) end
  end
end
save()
return {ready, looks.rejected, room and 1 or 0, nextInMs}
