-- purpose:   dead letters: full copies of jobs that failed for good.
-- guarantee: a letter is in the list of all, of its group and of its signature, or in none.
-- defines:   letterOf(seq), removeLetter(letter), candidates(key, signature), matches(letter, key, jobId, signature, tenant).
-- cost:      O(log letters) each.

-- include: flights
local letterOf, dropLetter, removeLetter, candidates, matches
do
  function letterOf(seq)
    local value = redis.call('HGET', base .. 'dlr', seq)
    return value and munpack(value)
  end

  function dropLetter(letter)
    redis.call('HDEL', base .. 'dlr', letter.q)
    redis.call('ZREM', base .. 'dl', letter.q)
    redis.call('ZREM', base .. 'dlg:' .. letter.g, letter.q)
    redis.call('ZREM', base .. 'dls:' .. redis.sha1hex(letter.sig), letter.q)
    local g = group(letter.g)
    if g then g.dead = g.dead - 1 end
    return g
  end

  function removeLetter(letter)
    local g = dropLetter(letter)
    -- A group that was kept for it alone may go now.
    if g and g.dead == 0 and hasEnded(g.status) and not g.expires then expireAt(g, atMs) end
  end

  -- The narrowest index that a filter has.
  function candidates(key, signature)
    if key ~= '*' then return base .. 'dlg:' .. key end
    if signature ~= '' then return base .. 'dls:' .. redis.sha1hex(signature) end
    return base .. 'dl'
  end

  -- '*' is any group or job, '' any signature, '*' any tenant.
  function matches(letter, key, jobId, signature, tenantName)
    return (key == '*' or letter.g == key) and (jobId == '*' or letter.id == jobId)
      and (signature == '' or letter.sig == signature) and (tenantName == '*' or tenantNameOf(letter.g) == tenantName)
  end
end
