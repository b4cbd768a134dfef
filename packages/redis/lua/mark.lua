-- purpose:   wake one waiting process: a marker says "look again" and carries no work.
-- guarantee: the list never grows beyond `cap`; a marker that nobody waits for stays for the next who does.
-- defines:   mark(list, cap).
-- cost:      O(1).
local function mark(list, cap)
  if redis.call('LPUSH', list, '1') > cap then redis.call('LTRIM', list, 0, cap - 1) end
end
