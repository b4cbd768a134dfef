-- purpose:   dead letters back into their lanes as if they had never run, or away.
-- guarantee: a letter that was moved is gone; a repeat moves what is left. An ended group opens its next round.
-- KEYS:      meta
-- ARGV:      settings mode key jobId signature tenant max after looksMax
-- returns:   {moved, more, 0 | the last one looked at: go on behind it}
-- cost:      O(looksMax).

-- include: when-full
-- include: letters
local mode, key, jobId, signature, tenantName, max = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local from, looksMax = '(' .. ARGV[8], tonumber(ARGV[9])

local function revive(letter, g)
  local r = {t = letter.t, p = letter.p, c = letter.c, at = letter.at, ch = letter.ch, nb = letter.nb, dl = letter.dl,
    tp = letter.tp, x = letter.x, rd = g.round}
  local old = recordOf(g.key, letter.id)
  if not old then redis.call('RPUSH', base .. 'o:' .. g.key, letter.id) end
  -- The record knows the answer that its last settlement got; the letter was written before.
  local s = (old and old.s) or letter.s or {}
  redis.call('HSET', base .. 'j:' .. g.key, letter.id, encodeJob(r))
  s.r, s.o, s.rs = 0, 0, nil
  redis.call('HSET', base .. 's:' .. g.key, letter.id, mpack(s))
end

-- The details of a group's failures by job, read once for all of its letters.
local detailsOf = {}
local function detailOf(g, id)
  local byJob = detailsOf[g.key]
  if not byJob then
    byJob = {}
    local details = redis.call('LRANGE', base .. 'fj:' .. g.key, 0, -1)
    for n = #details, 1, -1 do byJob[cjson.decode(details[n]).jobId] = details[n] end
    detailsOf[g.key] = byJob
  end
  return byJob[id]
end

local function forgetFailure(g, id, code)
  g.failed = g.failed - 1
  local codes = base .. 'fc:' .. g.key
  local name = redis.call('HEXISTS', codes, code) == 1 and code or 'OTHER_CODES'
  if redis.call('HINCRBY', codes, name, -1) <= 0 then redis.call('HDEL', codes, name) end
  local detail = detailOf(g, id)
  if detail then redis.call('LREM', base .. 'fj:' .. g.key, 1, detail) end
end

local function redriveOne(letter)
  local g = dropLetter(letter)
  if not g then return end
  if hasEnded(g.status) then openRound(g) elseif g.status == 'AGGREGATING' then resumeRound(g) end
  forgetFailure(g, letter.id, letter.code)
  revive(letter, g)
  g.tried = true
  joinLane(g, {key = g.key, id = letter.id, cost = letter.c, charge = letter.ch, deadline = letter.dl, waiting = atMs,
    round = g.round})
end

local batch, more, left, isEnd = {}, false, looksMax, false
local index = candidates(key, signature)
repeat
  local seqs = redis.call('ZRANGEBYSCORE', index, from, '+inf', 'LIMIT', 0, math.min(200, left))
  for n = 1, #seqs do
    local letter = letterOf(seqs[n])
    if letter and matches(letter, key, jobId, signature, tenantName) then
      more = #batch == max
      if not more then batch[#batch + 1] = letter end
      -- A job has one letter at most.
      isEnd = more or jobId ~= '*'
      if isEnd then break end
    end
  end
  left = left - #seqs
  if #seqs > 0 then from = '(' .. seqs[#seqs] else isEnd = true end
until isEnd or left <= 0
for n = 1, #batch do
  if mode == 'redrive' then redriveOne(batch[n]) else removeLetter(batch[n]) end
end
save()
return {#batch, more and 1 or 0, isEnd and 0 or tonumber(string.sub(from, 2))}
