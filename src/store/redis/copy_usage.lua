-- Writes one day of a bucket's usage that a copy brings, if the bucket has no usage of that day yet.
--
-- KEYS[1]  the usage of the bucket
-- ARGV[1]  the field of the day and ARGV[2] its text
-- ARGV[3]  how long usage is kept, in milliseconds
--
-- Returns 1, or 0 with nothing written.
if redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2]) == 0 then return 0 end
-- There is no open segment, unless the bucket says so.
redis.call('HSETNX', KEYS[1], 'o', '')
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
