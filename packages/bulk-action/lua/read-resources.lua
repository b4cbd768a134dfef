-- purpose:   every resource that is configured or was called.
-- guarantee: reads only.
-- KEYS:      meta
-- ARGV:      settings
-- returns:   JSON of ResourceStates in any order, with their points as lists
-- cost:      O(resources × points).

-- include: json
-- include: history
local names, seen, list = redis.call('HKEYS', base .. 'rc'), {}, {}
for name in pairs(C.resources) do names[#names + 1] = name end

local function stateOfResource(R)
  local fields = {}
  put(fields, 'resource', R.name)
  put(fields, 'rate', Congestion.rateAt(R.c))
  fields[#fields + 1] = '"limit":' .. (R.rps and number(R.rps) or 'null')
  fields[#fields + 1] = '"concurrency":' .. (R.concurrency and number(R.concurrency) or 'null')
  put(fields, 'frozenForMs', math.max(0, (R.frozen or 0) - atMs))
  put(fields, 'starts', R.starts)
  put(fields, 'throttles', R.throttles)
  fields[#fields + 1] = '"history":' .. History.read(History.resourceKey(R))
  return object(fields)
end

for n = 1, #names do
  if not seen[names[n]] then
    seen[names[n]] = true
    list[#list + 1] = stateOfResource(resource(names[n]))
  end
end
return '[' .. table.concat(list, ',') .. ']'
