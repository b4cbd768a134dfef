-- purpose:   what a dead letter looks like on its way out.
-- guarantee: reads only.
-- defines:   letterJson(letter).
-- cost:      O(1).

-- include: json
-- include: letters
local letterJson
do
  function letterJson(letter)
    local g = group(letter.g)
    local s = letter.s or {}
    local list = {}
    put(list, 'id', letter.id)
    put(list, 'groupId', groupIdOf(letter.g))
    put(list, 'tenant', tenantNameOf(letter.g))
    put(list, 'processorType', letter.t)
    put(list, 'payloadText', letter.p)
    put(list, 'status', 'FAILED')
    put(list, 'place', 'DEAD')
    put(list, 'retryCount', s.r or 0)
    put(list, 'orphanCount', s.o or 0)
    put(list, 'attempts', s.a or 0)
    put(list, 'cost', letter.c)
    put(list, 'createdAt', letter.at)
    put(list, 'notBefore', letter.nb)
    put(list, 'deadline', letter.dl)
    put(list, 'startedAt', s.sa)
    put(list, 'endedAt', letter.fa)
    list[#list + 1] = '"failedTries":' .. triesJson(s.tr)
    put(list, 'traceparent', letter.tp or (g and g.trace) or '')
    local outer = {'"job":' .. object(list)}
    put(outer, 'error', letter.e)
    put(outer, 'code', letter.code)
    put(outer, 'signature', letter.sig)
    put(outer, 'failedAt', letter.fa)
    put(outer, 'retryCount', s.r or 0)
    return object(outer)
  end
end
