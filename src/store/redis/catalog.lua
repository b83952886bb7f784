-- Makes changes to the catalog of one namespace, if nothing in it has changed since it was read.
--
-- KEYS[1]   the catalog, a hash; the others are sorted sets that the steps name by their number
-- ARGV[1]   the generation that was read
-- ARGV[2]   the server's time when it was read, from which the stamps are taken (-1: in tests with their own
--           clock)
-- ARGV[3]   the channel to publish on, ARGV[4] the message
-- ARGV[5..] steps:
--   set FIELD VALUE | del FIELD | in KEY MEMBER | out KEY MEMBER | trim KEY BEFORE | stay KEY MS
--
-- Returns 1, or 0 with nothing written.
if (redis.call('HGET', KEYS[1], 'generation') or '0') ~= ARGV[1] then return 0 end
-- The stamps must not lie in the future: fails if the clock was set back meanwhile.
local time = redis.call('TIME')
if time[1] * 1000 + math.floor(time[2] / 1000) < tonumber(ARGV[2]) then return 0 end
local at = 5
while at <= #ARGV do
  local step = ARGV[at]
  if step == 'set' then
    redis.call('HSET', KEYS[1], ARGV[at + 1], ARGV[at + 2])
    at = at + 3
  elseif step == 'del' then
    redis.call('HDEL', KEYS[1], ARGV[at + 1])
    at = at + 2
  else
    local key = KEYS[tonumber(ARGV[at + 1])]
    if step == 'in' then
      redis.call('ZADD', key, 0, ARGV[at + 2])
    elseif step == 'out' then
      redis.call('ZREM', key, ARGV[at + 2])
    elseif step == 'trim' then
      redis.call('ZREMRANGEBYLEX', key, '-', '(' .. ARGV[at + 2])
    elseif step == 'stay' then
      redis.call('PEXPIRE', key, ARGV[at + 2])
    end
    at = at + 3
  end
end
redis.call('HSET', KEYS[1], 'generation', tonumber(ARGV[1]) + 1)
redis.call('PUBLISH', ARGV[3], ARGV[4])
return 1
