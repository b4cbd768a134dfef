-- purpose:   end a group without its jobs.
-- guarantee: O(1) however many jobs there are; after the answer none of them starts. A repeat answers that it has ended.
-- KEYS:      meta
-- ARGV:      settings key
-- returns:   {'done', status, changed} | {'ended', status} | {'not-found'}
-- cost:      O(1), and the failed jobs that the result lists.

-- include: when-full
-- include: moves
local g = group(ARGV[2])
if not g then return {'not-found'} end
if hasEnded(g.status) then return {'ended', g.status} end
cutRound(g, 'CANCELLED', 'CANCELLED')
save()
return {'done', g.status, 1}
