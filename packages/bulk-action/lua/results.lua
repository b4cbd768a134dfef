-- purpose:   what settlements leave for the aggregation of their group, as src/memory/gather.ts.
-- guarantee: kept once with the settlement; bounded by `groupResultBytesMax`, what no longer fits is counted.
-- defines:   gather(g, job, data, flags, numbers), askAggregation(g, type), forgetResults(g).
-- cost:      O(1), and O(names) for numbers.

-- include: records
local gather, askAggregation, forgetResults
do
  local NAMES_MAX = 100

  function askAggregation(g, processorType)
    local types = g.types or {}
    for n = 1, #types do
      if types[n] == processorType then return end
    end
    types[#types + 1] = processorType
    g.types = types
  end

  -- An entry is: job, data ('' for none), type, in lines; of the three only the type may hold anything.
  local function keepData(g, job, data)
    if g.rb + #data > C.groupResultBytesMax then
      g.rx = g.rx + 1
      return
    end
    g.rb = g.rb + #data
    g.rc = g.rc + 1
    redis.call('RPUSH', base .. 'rs:' .. g.key, job.id .. '\n' .. data .. '\n' .. job.t)
  end

  local function keepNumber(g, name, value)
    local hash = base .. 'rn:' .. g.key
    local known = redis.call('HGET', hash, name)
    local count, sum, min, max = 0, 0, value, value
    if known then
      count, sum, min, max = string.match(known, '^(%S+) (%S+) (%S+) (%S+)$')
      count, sum, min, max = tonumber(count), tonumber(sum), tonumber(min), tonumber(max)
    elseif redis.call('HLEN', hash) >= NAMES_MAX then
      return
    end
    g.nums = true
    redis.call('HSET', hash, name, string.format('%.17g %.17g %.17g %.17g', count + 1, known and sum + value or value,
      math.min(min, value), math.max(max, value)))
  end

  -- `data`: JSON or ''. `flags`: a asks for an aggregation, d had data that cannot be kept. `numbers`: name value …
  function gather(g, job, data, flags, numbers)
    local asks = string.find(flags, 'a', 1, true)
    if asks then askAggregation(g, job.t) end
    if string.find(flags, 'd', 1, true) then
      g.rx = g.rx + 1
    elseif asks or data ~= '' then
      keepData(g, job, data)
    end
    for name, value in string.gmatch(numbers, '(%S+) (%S+)') do keepNumber(g, name, tonumber(value)) end
  end

  -- With the records of their jobs; how many they were stays known.
  function forgetResults(g)
    if g.rc == 0 then return end
    redis.call('UNLINK', base .. 'rs:' .. g.key)
    g.rx = g.rx + g.rc
    g.rc = 0
    g.rb = 0
  end
end
