-- purpose:   wake one waiting process. A marker carries no work.
-- guarantee: the list never grows beyond `cap`. A marker without a waiter stays for the next one.
-- defines:   mark(list, cap).
-- cost:      O(1).
local function mark(list, cap)
  if redis.call('LPUSH', list, '1') > cap then redis.call('LTRIM', list, 0, cap - 1) end
end
