-- Tells every bucket of an entity the stamp of its new limits, so that no process with older ones writes to it, and
-- reads them all. Or forgets them all.
--
-- KEYS[1]     the index of buckets of the entity; the buckets lie in the same slot
-- ARGV[1]     what the keys of the buckets begin with
-- ARGV[2]     'forget', or the stamp of a change that concerns all of them (0: there is none)
-- ARGV[3]     now, for tests (negative: ask the server)
-- ARGV[4...]  resource and stamp in turn, of changes that concern one of them
--
-- Answers 3, now, then for each bucket its resource and its record as load.lua does. Buckets of format 1 are not told.
local now, stamps, found = tonumber(ARGV[3]), {}, nil
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for i = 4, #ARGV, 2 do stamps[ARGV[i]] = tonumber(ARGV[i + 1]) end
found = {3, now}
for _, resource in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local key = ARGV[1] .. resource
  if ARGV[2] == 'forget' then
    redis.call('DEL', key, KEYS[1])
  else
    local hash = redis.call('TYPE', key).ok == 'hash'
    local value = redis.call(hash and 'HGETALL' or 'GET', key)
    if value and not hash and #value >= 96 then
      local stamp = math.max(tonumber(ARGV[2]), stamps[resource] or 0)
      if stamp > struct.unpack('<d', value, 25) then
        redis.call('SETRANGE', key, 24, struct.pack('<d', stamp))
        value = redis.call('GET', key)
      end
    end
    found[#found + 1] = resource
    found[#found + 1] = value
  end
end
return found
