-- Reads buckets and, where there is one, the marker of a lease, atomically.
--
-- KEYS[1..n]  the buckets; KEYS[n+1] the marker, if ARGV[2] is 1
-- ARGV[1]     now, for tests (negative: ask the server)
-- ARGV[3]     1: keep acquire.lua from charging these buckets until they are written. Without this, a caller that
--             reads and then writes loses again and again against callers that charge in one command
--
-- Returns 3, now, the records of the buckets (nil: none; format 1: the names and values of a hash), the
-- marker (nil: none), like acquire.lua where it leaves the decision to C++.
local now = tonumber(ARGV[1])
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local found = {3, now}
local count = ARGV[2] == '1' and #KEYS - 1 or #KEYS
for k = 1, count do
  local hash = redis.call('TYPE', KEYS[k]).ok == 'hash'
  if ARGV[3] == '1' and not hash and redis.call('STRLEN', KEYS[k]) >= 96 then
    redis.call('SETRANGE', KEYS[k], 48, struct.pack('<d', 0))
  end
  found[k + 2] = redis.call(hash and 'HGETALL' or 'GET', KEYS[k])
end
if count < #KEYS then found[count + 3] = redis.call('GET', KEYS[#KEYS]) end
return found
