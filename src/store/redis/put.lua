-- Writes buckets and the marker of a lease, if none of them has changed since it was read.
--
-- KEYS[1..n]     the buckets of the decision
-- KEYS[n+1..2n]  the index of buckets of each entity
-- KEYS[2n+1..3n] the fence of each family (fence.lua)
-- KEYS[3n+1]     the marker, if there is one
-- ARGV[1]        n
-- ARGV[2]        the resource
-- ARGV[3]        PEXPIREAT; in tests with their own clock PEXPIRE, and then the moments below are durations
-- ARGV[4..5]     the marker as it was read (empty: there was none) and its new text (empty: unchanged)
-- ARGV[6]        the lifetime of the marker in milliseconds
-- ARGV[7]        the generation of the catalog that the chain comes from
-- then for each bucket: its record as it was read (empty: there was none; format 1: field b), its new record
-- (empty: unchanged), and when its key expires
--
-- Returns 1; 0 with nothing written: something has changed; 2 with nothing written: the chain has changed.
local count, expire = tonumber(ARGV[1]), ARGV[3]
local marker = KEYS[3 * count + 1]
for k = 1, count do
  local key = KEYS[k]
  local hash = redis.call('TYPE', key).ok == 'hash'
  local value = hash and redis.call('HGET', key, 'b') or not hash and redis.call('GET', key)
  if (value or '') ~= ARGV[3 * k + 5] then return 0 end
  local fence = redis.call('GET', KEYS[2 * count + k])
  if fence and tonumber(string.match(fence, '^%d+')) > tonumber(ARGV[7]) then return 2 end
end
if marker and (redis.call('GET', marker) or '') ~= ARGV[4] then return 0 end
for k = 1, count do
  local record, moment = ARGV[3 * k + 6], ARGV[3 * k + 7]
  if record ~= '' then
    redis.call('SET', KEYS[k], record)
    redis.call(expire, KEYS[k], moment)
    -- The index lives as long as the last of its buckets. An index of format 1 may have no expiry.
    local index = KEYS[count + k]
    local before = redis.call('PTTL', index)
    redis.call('ZADD', index, 0, ARGV[2])
    if before ~= -1 then
      redis.call(expire, index, moment)
      if redis.call('PTTL', index) < before then redis.call('PEXPIRE', index, before) end
    end
  end
end
if marker and ARGV[5] ~= '' then redis.call('SET', marker, ARGV[5], 'PX', ARGV[6]) end
return 1
