-- purpose:   jobs of which nothing is unusual, into the lane of a group of which nothing is either, or of a new one: what registration.lua,
--            moves.lua and fair.lua come to for them.
-- guarantee: leaves everything as they would; has done nothing when it answers nil.
-- defines:   addUsual(definition, later, first) → how many were added and how many the group has now, or nil; the jobs are ARGV from
--            `first` on, 2 values each. saveAdded().
-- cost:      O(jobs + log n).

-- include: definition
-- include: homes
-- include: usual-tenants
-- include: free-lines
-- include: lane-keys
-- include: waking
local addUsual, saveAdded
do
  -- A group that is there, its tenant and where that has its fields.
  local function found(g)
    if g[G_REST] ~= '' or g[G_SEALED] == 1 or hasEnded(STATUSES[g[G_STATUS]]) then return nil end
    if g[G_LANE] == 0 and g[G_FAIR] == 1 then return nil end
    if g[G_OWNER] then return g, g[G_OWNER], LISTED end
    local t = storedTenant(g[G_TENANT])
    if t and not t.concurrency and not t.parked then return g, t, NAMED end
    return nil
  end

  -- One that is to be made. It is not yet: it may be refused.
  local function planned(d)
    if d.level ~= 'normal' or d.rps or d.burst or d.concurrency or d.deadline or d.trace ~= '' or Homes.claimOn(d.key) then return nil end
    local g = {STATUS_NUMBERS.CREATED, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, d.weight, 0, 0, 0, 0, 0, 0, atMs, 0, 0, 0, 0, d.tenantId}
    g[G_OWNER], g[G_REST], g[G_LEVEL], g[G_TRACE] = false, '', 'normal', false
    local t = storedTenant(d.tenantId)
    if t == nil and d.tenant == '' and d.key == '/' .. d.tenantId then
      t = {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0}
      g[G_ALONE], g[G_OWNER] = 1, t
      return g, t, LISTED
    end
    if t and not t.own and t.records > 0 and not t.concurrency and not t.parked then return g, t, NAMED end
    return nil
  end

  local function isFull(pending, wanted)
    return (C.queuedJobsMax > 0 and S.pending + wanted > C.queuedJobsMax)
      or (C.tenantQueuedJobsMax > 0 and pending + wanted > C.tenantQueuedJobsMax)
  end

  -- Ids and bodies of those that the group does not know, and the ids alone; nothing when one is unusual.
  local function unknownJobs(key, isNew, round, first)
    local known, seen, records, ids, n = {}, {}, {}, {}, 0
    if not isNew then
      for at = first, #ARGV, 2 do known[#known + 1] = ARGV[at] end
      known = redis.call('HMGET', base .. 'j:' .. key, unpack(known))
    end
    local head = pack(JOB, 0, atMs, round)
    for at = first, #ARGV, 2 do
      local id, body = ARGV[at], ARGV[at + 1]
      if string.byte(body) ~= 10 then return nil end
      if not known[(at - first) / 2 + 1] and not seen[id] then
        seen[id] = true
        n = n + 1
        records[2 * n - 1], records[2 * n], ids[n] = id, head .. body, id
      end
    end
    return records, ids
  end

  -- As `register` of registration.lua.
  local function make(d, g, t, F)
    if F == LISTED then
      S.seq = S.seq + 1
      t[T_SEQ] = S.seq
      redis.call('SADD', base .. 'tenants', d.tenantId)
    else
      t.records, t.open = t.records + 1, t.open + 1
    end
    S.seq = S.seq + 1
    g[G_SEQ] = S.seq
    keepDefinition(d, S.seq)
    redis.call('ZADD', base .. 'watch', atMs + d.timeoutMs, d.key)
  end

  -- As `refresh` of fair.lua, of a group whose lane was empty.
  local function standInLine(key, g, t, F)
    g[G_FAIR] = 1
    g[G_START] = math.max(t[F.virtual], g[G_EPOCH] == t[F.vepoch] and g[G_FINISH] or 0)
    if F == NAMED then
      t.fg = t.fg + 1
      if not t.own then put(groupsOf(t.id), memberOf(g[G_SEQ], key), g[G_START]) end
    end
    announceTurn()
    if F == NAMED and t.fair or F == LISTED and t[T_FAIR] == 1 then return end
    t[F.start] = math.max(S.virtual, t[F.epoch] == S.vepoch and t[F.finish] or 0)
    if F == NAMED then t.fair = true else t[T_FAIR] = 1 end
    local member = F == NAMED and memberOf(t.seq, t.own or t.id) or memberOf(t[T_SEQ], key)
    put(freeLine(), member, t[F.start])
  end

  local function count(g, t, F, n)
    g[G_REGISTERED], g[G_LANE], g[G_PENDING] = g[G_REGISTERED] + n, g[G_LANE] + n, g[G_PENDING] + n
    S.laneJobs, S.pending = S.laneJobs + n, S.pending + n
    g[G_PROGRESS_AT] = atMs
    if F == NAMED then t.laneJobs, t.pending = t.laneJobs + n, t.pending + n end
  end

  function addUsual(d, later, first)
    if #C.limited > 0 or S.lines or #ARGV < first then return nil end
    local key, g, t, F = d.key, usualGroup(d.key), nil, nil
    local isNew = g == nil
    if isNew then g, t, F = planned(d) elseif g then g, t, F = found(g) end
    if not g then return nil end
    local records, ids = unknownJobs(key, isNew, g[G_ROUND], first)
    if not ids or #ids == 0 or isFull(F == NAMED and t.pending or g[G_PENDING], #ids + math.max(0, later)) then return nil end
    if isNew then make(d, g, t, F) end
    inPieces('HSET', base .. 'j:' .. key, records)
    inPieces('RPUSH', base .. 'o:' .. key, ids)
    inPieces('RPUSH', laneKeyOf(key, g[G_ROUND]), ids)
    if g[G_LANE] == 0 then
      S.laneGroups = S.laneGroups + 1
      standInLine(key, g, t, F)
    end
    count(g, t, F, #ids)
    touchUsual(key, g)
    return #ids, g[G_REGISTERED]
  end

  function saveAdded()
    saveOrders()
    saveUsual()
    saveTenants()
    saveState()
    wake()
  end
end
