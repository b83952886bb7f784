-- Writes buckets and the marker of a lease, if none of them has changed since it was read.
--
-- KEYS[1..n]     the buckets that the decision rests on
-- KEYS[n+1..2n]  the index of buckets of each entity
-- KEYS[2n+1]     the marker, if there is one
-- ARGV[1]        n
-- ARGV[2]        the resource
-- ARGV[3..4]     the marker as it was read (empty: there was none) and as it is from now on (empty: the same)
-- ARGV[5]        for how long the marker stays
-- then for each bucket:
--   its state as it was read (empty: there was none), its new state (empty: the same), parameters, dormant
--   limits (empty: none), for how long the key stays (0: for good), how often its counters have gone round (text), for
--   how long it is kept unused
--
-- Answers 1, or 0 with nothing written.
local count = tonumber(ARGV[1])
local marker = KEYS[2 * count + 1]
for k = 1, count do
  if (redis.call('HGET', KEYS[k], 'b') or '') ~= ARGV[7 * k - 1] then return 0 end
end
if marker and (redis.call('GET', marker) or '') ~= ARGV[3] then return 0 end
for k = 1, count do
  local value, stay = ARGV[7 * k], tonumber(ARGV[7 * k + 3])
  if value ~= '' then
    redis.call('DEL', KEYS[k])
    redis.call('HSET', KEYS[k], 'b', value, 'p', ARGV[7 * k + 1], 'k', ARGV[7 * k + 5])
    if ARGV[7 * k + 2] ~= '' then redis.call('HSET', KEYS[k], 'd', ARGV[7 * k + 2]) end
    for i, rounds in string.gmatch(ARGV[7 * k + 4], '(%d+)=(-?%d+)') do
      redis.call('HSET', KEYS[k], 'o' .. i, rounds)
    end
    local index = KEYS[count + k]
    local left = redis.call('PTTL', index)
    redis.call('ZADD', index, 0, ARGV[2])
    if stay > 0 then
      redis.call('PEXPIRE', KEYS[k], stay)
      if left ~= -1 and left < stay then redis.call('PEXPIRE', index, stay) end
    elseif left >= 0 then
      redis.call('PERSIST', index)
    end
  end
end
if marker and ARGV[4] ~= '' then redis.call('SET', marker, ARGV[4], 'PX', ARGV[5]) end
return 1
