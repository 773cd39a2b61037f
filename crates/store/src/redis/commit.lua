-- Writes one batch: all of it, or nothing.
--
-- KEYS     every key of the batch, once each; operations name them by index. A spare key for merging may follow.
-- ARGV[1]  MessagePack of { guards, operations }, made by encode.rs.
-- answer   { 'ok', replies }, or { problem, ... } as commit.rs reads it, and then nothing was written.
--
-- Redis does not take back what a script wrote before an error. So everything is checked first, against what is stored
-- and what the earlier operations of the batch will have made of it, and then written by commands that cannot fail.
-- One thing is too dear to foresee: whether a removal empties a collection, after which its key may take another type.
-- A batch that depends on that is written step by step, and undone from dumps if a step fails.
--
-- The line that script.rs puts in front makes Redis refuse the script before it starts, not half-way, when it is out of
-- memory, read-only or cannot persist.

local call, try = redis.call, redis.pcall
local sub, floor, min, max = string.sub, math.floor, math.min, math.max

-- Lua's stack bounds the arguments of one call. Even, so that pairs stay together.
local PIECE = 7000

local batch = cmsgpack.unpack(ARGV[1])
local guards, operations = batch[1], batch[2]

---------------------------------------------------------------- what keys are, and will be

local function stored_kind(key)
  local kind = call('TYPE', key).ok
  if kind == 'string' then
    local head = call('GETRANGE', key, 0, 15)
    if #head == 16 and sub(head, 1, 4) == 'HYLL' then
      local encoding = string.byte(head, 5)
      if encoding == 1 or (encoding == 0 and call('STRLEN', key) == 12304) then return 'hyperloglog' end
    end
  end
  return kind
end

-- For each key touched so far: `kind` as it will be; `emptied` where a removal may have left nothing; `fresh` where
-- nothing stored counts any more; `value` and `fields` as increments will find them.
local states = {}

local function state_of(k)
  local state = states[k]
  if not state then
    state = { kind = stored_kind(KEYS[k]) }
    states[k] = state
  end
  return state
end

local function gone(k)
  states[k] = { kind = 'none', fresh = true }
end

-- Why an operation on this kind may not run, or nothing.
local function refused(k, kind)
  local state = state_of(k)
  if state.kind == kind or state.kind == 'none' then return nil end
  if state.emptied then return { 'depends' } end
  return { 'wrong_type', k, kind, state.kind }
end

local function adds(kind)
  return function(operation)
    local k, elements = operation[2], operation[3]
    local problem = refused(k, kind)
    if problem then return problem end
    if #elements > 0 then
      local state = states[k]
      state.kind, state.emptied = kind, nil
    end
  end
end

local function removes(kind)
  return function(operation)
    local problem = refused(operation[2], kind)
    if problem then return problem end
    local state = states[operation[2]]
    if state.kind == kind then state.emptied = true end
  end
end

local function pieces(command, key, list, option)
  local total, last = 0, 0
  for from = 1, #list, PIECE do
    local to = min(from + PIECE - 1, #list)
    if option then
      last = call(command, key, option, unpack(list, from, to))
    else
      last = call(command, key, unpack(list, from, to))
    end
    total = total + last
  end
  return total, last
end

local function counts(command)
  return function(operation) return (pieces(command, KEYS[operation[2]], operation[3])) end
end

---------------------------------------------------------------- operations: first check, then write

local check, write = {}, {}

function check.set(operation)
  local problem = refused(operation[2], 'string')
  if problem then return problem end
  states[operation[2]] = { kind = 'string', fresh = true, value = operation[3] }
end

function write.set(operation)
  call('SET', KEYS[operation[2]], operation[3])
  return 0
end

function check.increment(operation, index)
  local k = operation[2]
  local problem = refused(k, 'string')
  if problem then return problem end
  local state = states[k]
  if not state.fresh then
    state.value, state.fresh = call('GET', KEYS[k]), true
  end
  local sum, why = add_any(state.value, operation[3])
  if not sum then return { why, index, 0, state.value } end
  state.kind, state.value = 'string', sum
  operation.sum = sum
end

function write.increment(operation)
  call('SET', KEYS[operation[2]], operation.sum, 'KEEPTTL')
  return 0
end

-- operation[4] says that an increment of the same key follows, which must see these fields.
function check.hash_set(operation)
  local problem = adds('hash')(operation)
  if problem then return problem end
  if operation[4] then
    local state, flat = states[operation[2]], operation[3]
    state.fields = state.fields or {}
    for i = 1, #flat, 2 do state.fields[flat[i]] = flat[i + 1] end
  end
end

write.hash_set = counts('HSET')

function check.hash_remove(operation)
  local problem = removes('hash')(operation)
  if problem then return problem end
  if operation[4] then
    local state = states[operation[2]]
    state.fields = state.fields or {}
    for _, field in ipairs(operation[3]) do state.fields[field] = false end
  end
end

write.hash_remove = counts('HDEL')

-- The hot path: no look at the type where reading the fields tells as much, one read and one write for thousands.
-- operation[5] says that no field comes twice and no other increment of the key follows, so that none need be noted.
local function check_hash_increment(add)
  return function(operation, index)
    local k, fields, by = operation[2], operation[3], operation[4]
    if states[k] or #fields == 0 then
      local problem = refused(k, 'hash')
      if problem then return problem end
      if #fields == 0 then return nil end
    end
    local state = states[k] or {}
    local later, alone, flat, n = state.fields or {}, operation[5], {}, 0
    for from = 1, #fields, PIECE do
      local to = min(from + PIECE - 1, #fields)
      local stored = {}
      if not state.fresh then
        stored = try('HMGET', KEYS[k], unpack(fields, from, to))
        if stored.err then return refused(k, 'hash') or { 'failed', stored.err } end
      end
      for i = from, to do
        local field = fields[i]
        local old = later[field]
        if old == nil then old = stored[i - from + 1] end
        local sum, why = add(old, by[i])
        if not sum then return { why, index, i, old } end
        if not alone then later[field] = sum end
        flat[n + 1], flat[n + 2] = field, sum
        n = n + 2
      end
    end
    state.kind, state.emptied, state.fields = 'hash', nil, later
    states[k] = state
    operation.flat = flat
  end
end

local function write_hash_increment(operation)
  if operation.flat then pieces('HSET', KEYS[operation[2]], operation.flat) end
  return 0
end

check.hash_increment, write.hash_increment = check_hash_increment(add_small), write_hash_increment
check.hash_increment_any, write.hash_increment_any = check_hash_increment(add_any), write_hash_increment

check.set_add, write.set_add = adds('set'), counts('SADD')
check.set_remove, write.set_remove = removes('set'), counts('SREM')
check.sorted_add = adds('zset')
check.sorted_remove, write.sorted_remove = removes('zset'), counts('ZREM')
check.sorted_remove_by_score = removes('zset')

-- operation[4] is NX, GT or LT, or false.
function write.sorted_add(operation)
  return (pieces('ZADD', KEYS[operation[2]], operation[3], operation[4]))
end

function write.sorted_remove_by_score(operation)
  return call('ZREMRANGEBYSCORE', KEYS[operation[2]], operation[3], operation[4])
end

check.list_push = adds('list')
check.list_pop = removes('list')

-- operation[4] is LPUSH or RPUSH.
function write.list_push(operation)
  if #operation[3] == 0 then return call('LLEN', KEYS[operation[2]]) end
  local _, length = pieces(operation[4], KEYS[operation[2]], operation[3])
  return length
end

-- operation[3] is LPOP or RPOP, operation[4] how many.
function write.list_pop(operation)
  if operation[4] == 0 then return {} end
  return call(operation[3], KEYS[operation[2]], operation[4]) or {}
end

check.hll_add = adds('hyperloglog')

function write.hll_add(operation)
  return min((pieces('PFADD', KEYS[operation[2]], operation[3])), 1)
end

-- operation[4] is the index of the spare key.
check.hll_merge = adds('hyperloglog')

function write.hll_merge(operation)
  local key, spare = KEYS[operation[2]], KEYS[operation[4]]
  if call('EXISTS', key) == 0 then
    call('SET', key, operation[3])
  else
    call('SET', spare, operation[3])
    call('PFMERGE', key, spare)
    call('DEL', spare)
  end
  return 0
end

function check.expire_at(operation)
  local time = call('TIME')
  if tonumber(operation[3]) <= time[1] * 1000 + floor(time[2] / 1000) then gone(operation[2]) end
end

function write.expire_at(operation)
  return call('PEXPIREAT', KEYS[operation[2]], operation[3])
end

function check.expire_in(operation)
  if tonumber(operation[3]) == 0 then gone(operation[2]) end
end

function write.expire_in(operation)
  return call('PEXPIRE', KEYS[operation[2]], operation[3])
end

function check.persist() end

function write.persist(operation)
  return call('PERSIST', KEYS[operation[2]])
end

function check.delete(operation)
  gone(operation[2])
end

function write.delete(operation)
  return call('UNLINK', KEYS[operation[2]])
end

function check.publish(operation)
  if not redis.acl_check_cmd('PUBLISH', operation[2], operation[3]) then
    return { 'failed', 'NOPERM the user may not publish on this channel' }
  end
end

function write.publish(operation)
  call('PUBLISH', operation[2], operation[3])
  return 0
end

---------------------------------------------------------------- guards

-- Each answers the kind its key must have, or nothing, and then whether it holds. `false` stands for absent.
local holds = {
  key = function(guard) return (call('EXISTS', KEYS[guard[2]]) == 1) == guard[3] end,
  value = function(guard) return call('GET', KEYS[guard[2]]) == guard[3] end,
  field = function(guard) return call('HGET', KEYS[guard[2]], guard[4]) == guard[3] end,
  fields = function(guard)
    local values, fields = guard[3], guard[4]
    for from = 1, #fields, PIECE do
      local to = min(from + PIECE - 1, #fields)
      for i, value in ipairs(call('HMGET', KEYS[guard[2]], unpack(fields, from, to))) do
        if value ~= values[from + i - 1] then return false end
      end
    end
    return true
  end,
  member = function(guard) return (call('SISMEMBER', KEYS[guard[2]], guard[4]) == 1) == guard[3] end,
  score = function(guard)
    local score = call('ZSCORE', KEYS[guard[2]], guard[4])
    return (score and tonumber(score)) == guard[3]
  end,
  front = function(guard) return call('LINDEX', KEYS[guard[2]], 0) == guard[3] end,
}
local guarded_kind =
  { value = 'string', field = 'hash', fields = 'hash', member = 'set', score = 'zset', front = 'list' }

local function failed_guard()
  for index, guard in ipairs(guards) do
    local kind = guarded_kind[guard[1]]
    local problem = kind and refused(guard[2], kind)
    if problem then return problem end
    if not holds[guard[1]](guard) then return { 'guard', index } end
  end
end

---------------------------------------------------------------- the batch

local function write_step_by_step()
  local saved = {}
  for k, key in ipairs(KEYS) do
    saved[k] = { dump = call('DUMP', key), expiry = max(call('PEXPIRETIME', key), 0) }
  end
  local replies, publications = {}, {}
  for index, operation in ipairs(operations) do
    states = {}
    local problem = check[operation[1]](operation, index)
    if problem then
      for k, key in ipairs(KEYS) do
        call('DEL', key)
        if saved[k].dump then call('RESTORE', key, saved[k].expiry, saved[k].dump, 'ABSTTL') end
      end
      return problem
    end
    if operation[1] == 'publish' then
      -- Cannot be undone, so it waits until nothing can fail.
      publications[#publications + 1] = operation
      replies[index] = 0
    else
      replies[index] = write[operation[1]](operation)
    end
  end
  for _, publication in ipairs(publications) do write.publish(publication) end
  return { 'ok', replies }
end

local problem = failed_guard()
if problem then return problem end
for index, operation in ipairs(operations) do
  problem = check[operation[1]](operation, index)
  if problem and problem[1] == 'depends' then return write_step_by_step() end
  if problem then return problem end
end
local replies = {}
for index, operation in ipairs(operations) do
  replies[index] = write[operation[1]](operation)
end
return { 'ok', replies }
