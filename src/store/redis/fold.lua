-- Replaces the segments of a day by one sum, if neither has changed since it was read.
--
-- KEYS[1]  the usage of a bucket
-- ARGV     the day, its segments, the day in one as it was (empty: there was none) and as it will be
--
-- Returns 1, or 0 with nothing written.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if (redis.call('HGET', KEYS[1], 'd' .. ARGV[1]) or '') ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], 'd' .. ARGV[1], ARGV[4])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
