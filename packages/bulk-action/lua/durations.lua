-- purpose:   how long tries take: the classes in which they are counted, as src/rules/histogram.ts, and their mean.
-- guarantee: pure.
-- defines:   bucketIndex(ms), meanAfter(before, durationMs).
-- cost:      O(1).

local bucketIndex, meanAfter
do
  local BOUNDS = {1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096,
    6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072, 196608, 262144, 393216, 524288, 786432, 1048576,
    1572864, 2097152, 3145728, 4194304}

  function bucketIndex(ms)
    -- Most tries of a busy engine are short: a search would cost more than their other counters together.
    if ms <= BOUNDS[1] then return 0 end
    local low, high = 0, #BOUNDS
    while low < high do
      local middle = math.floor((low + high) / 2)
      if BOUNDS[middle + 1] < ms then low = middle + 1 else high = middle end
    end
    return low
  end

  -- The newest counts a fifth.
  function meanAfter(before, durationMs)
    return before + 0.2 * (math.max(1, durationMs) - before)
  end
end
