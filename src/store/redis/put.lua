-- Writes buckets and the marker of a lease, if none of them has changed since it was read, and hands over the
-- usage that the buckets have counted in hours that are over.
--
-- KEYS[1..n]     the buckets of the decision
-- KEYS[n+1..2n]  the index of buckets of each entity
-- KEYS[2n+1..3n] the fence of each family (fence.lua)
-- KEYS[3n+1..4n] the usage of each bucket
-- then, if ARGV[8] is 'here', the index of usage and the set of its namespaces; then the marker, if any
-- ARGV[1]        n
-- ARGV[2]        the resource
-- ARGV[3]        PEXPIREAT; in tests with their own clock PEXPIRE, and then the moments below are durations
-- ARGV[4..5]     the marker as it was read (empty: there was none) and its new text (empty: unchanged)
-- ARGV[6]        the lifetime of the marker in milliseconds
-- ARGV[7]        the generation of the catalog that the chain comes from
-- ARGV[8]        how buckets that begin to count get into the index of usage: 'here', in this script; 'done',
--                they are in it; 'ask', they are not, and this script, in a cluster, cannot write to it
-- ARGV[9]        how long usage is kept, in milliseconds
-- ARGV[10]       the namespace
-- then for each bucket:
--   its record as it was read (empty: there was none; format 1: field b)
--   its new record (empty: unchanged; -: the bucket is deleted), and when its key expires
--   the day and the text of a closed segment (empty: there is none)
--   the hour of its open segment (-: it has none; empty: as before)
--   its members of the index of usage, two words
--
-- The usage of a bucket is a hash: DAY the segments of a day, dDAY a day in one, o the hour of the open
-- segment (empty: there is none; -: it is not in the index yet), lost how many open segments are gone.
--
-- Returns 1; 3: the same, but the usage cannot be written, since its key has another type; with nothing
-- written 0: something has changed; 2: the chain has changed; 4: the buckets must get into the index first.
local count, expire, index_by, keep = tonumber(ARGV[1]), ARGV[3], ARGV[8], ARGV[9]
local marker = KEYS[4 * count + (index_by == 'here' and 3 or 1)]
local seen, ask, bad = {}, false, false
for k = 1, count do
  local key, at = KEYS[k], 8 * k + 2
  local hash = redis.call('TYPE', key).ok == 'hash'
  local value = hash and redis.call('HGET', key, 'b') or not hash and redis.call('GET', key)
  if (value or '') ~= ARGV[at + 1] then return 0 end
  local fence = redis.call('GET', KEYS[2 * count + k])
  if fence and tonumber(string.match(fence, '^%d+')) > tonumber(ARGV[7]) then return 2 end
  if ARGV[at + 4] ~= '' or ARGV[at + 6] ~= '' then
    seen[k] = redis.pcall('HGET', KEYS[3 * count + k], 'o') or '-'
    if type(seen[k]) == 'table' then bad = true end
    if seen[k] == '-' and ARGV[at + 6] ~= '' and index_by == 'ask' then ask = true end
  end
end
if marker and (redis.call('GET', marker) or '') ~= ARGV[4] then return 0 end
for k = 1, ask and count or 0 do
  -- The key tells whoever cleans the index that a bucket is about to count.
  if seen[k] == '-' then
    redis.call('HSET', KEYS[3 * count + k], 'o', '-')
    redis.call('PEXPIRE', KEYS[3 * count + k], keep)
  end
end
if ask then return 4 end
for k = 1, count do
  local at, index = 8 * k + 2, KEYS[count + k]
  local record, moment = ARGV[at + 2], ARGV[at + 3]
  if record == '-' then
    redis.call('DEL', KEYS[k])
    redis.call('ZREM', index, ARGV[2])
  elseif record ~= '' then
    redis.call('SET', KEYS[k], record)
    redis.call(expire, KEYS[k], moment)
    -- The index lives as long as the last of its buckets. An index of format 1 may have no expiry.
    local before = redis.call('PTTL', index)
    redis.call('ZADD', index, 0, ARGV[2])
    if before ~= -1 then
      redis.call(expire, index, moment)
      if redis.call('PTTL', index) < before then redis.call('PEXPIRE', index, before) end
    end
  end
  if type(seen[k]) == 'string' then
    local usage, day, open = KEYS[3 * count + k], ARGV[at + 4], ARGV[at + 6]
    if day ~= '' then
      local text = redis.call('HGET', usage, day)
      redis.call('HSET', usage, day, (text and text .. '\n' or '') .. ARGV[at + 5])
    end
    if open ~= '' then
      -- A bucket whose key is gone took its open segment with it.
      if ARGV[at + 1] == '' and tonumber(seen[k]) then redis.call('HINCRBY', usage, 'lost', 1) end
      redis.call('HSET', usage, 'o', open == '-' and '' or open)
    end
    redis.call('PEXPIRE', usage, keep)
    if seen[k] == '-' and index_by == 'here' then
      local added = redis.pcall('ZADD', KEYS[4 * count + 1], 0, ARGV[at + 7], 0, ARGV[at + 8])
      local known = redis.pcall('SADD', KEYS[4 * count + 2], ARGV[10])
      if type(added) == 'table' or type(known) == 'table' then bad = true end
    end
  end
end
if marker and ARGV[5] ~= '' then redis.call('SET', marker, ARGV[5], 'PX', ARGV[6]) end
return bad and 3 or 1
