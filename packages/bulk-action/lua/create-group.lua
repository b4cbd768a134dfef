-- purpose:   make a group, once.
-- guarantee: the same definition again changes nothing; another one is refused, and so is a group that is claimed for another shard.
-- KEYS:      meta
-- ARGV:      settings key tenant tenantId weight level rps burst concurrency timeoutMs deadline traceparent fingerprint
-- returns:   created | known | conflict | elsewhere
-- cost:      O(log groups).

-- include: registration
-- include: homes
local definition = readDefinition(2)
local fingerprint = redis.call('HGET', base .. 'g:' .. definition.key, 'fingerprint')
if fingerprint then return fingerprint == definition.fingerprint and 'known' or 'conflict' end
if Homes.claimOn(definition.key) then return 'elsewhere' end
register(definition)
save()
return 'created'
