-- purpose:   make a group, once.
-- guarantee: the same definition again changes nothing; another one is refused.
-- KEYS:      meta
-- ARGV:      settings key tenant tenantId weight level rps burst concurrency timeoutMs deadline traceparent fingerprint
-- returns:   created | known | conflict
-- cost:      O(log groups).

-- include: registration
local definition = readDefinition(2)
local fingerprint = redis.call('HGET', base .. 'g:' .. definition.key, 'fingerprint')
if fingerprint then return fingerprint == definition.fingerprint and 'known' or 'conflict' end
register(definition)
save()
return 'created'
