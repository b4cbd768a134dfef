-- purpose:   the engine's settings, its key base and the time of the step.
-- guarantee: reads nothing but the clock; every process of an engine passes the same settings.
-- defines:   C (settings by name), base (what all keys begin with), atUs, atMs.
-- cost:      O(1).

-- include: now
local SETTING_NAMES = {'globalRps', 'burst', 'costMax', 'readyQueueMaxSize', 'readyHorizonMs', 'fetchBatchSize', 'charge', 'alpha',
  'maxShare', 'high', 'normal', 'low', 'ackTimeoutMs', 'maxOrphanCount', 'defaultBackoffMs', 'maxBackoffMs',
  'failedDetailsMaxCount', 'jobRetentionMs', 'resultRetentionMs', 'deadLetterRetentionMs', 'queuedJobsMax',
  'tenantQueuedJobsMax', 'instanceTtlMs'}
local C = {}
do
  local n = 0
  for word in string.gmatch(ARGV[1], '%S+') do
    n = n + 1
    C[SETTING_NAMES[n]] = tonumber(word) or word
  end
  if C.burst == '-' then C.burst = nil end
end
local base = string.sub(KEYS[1], 1, -5)
local atUs = nowUs()
local atMs = math.floor(atUs / 1000)
