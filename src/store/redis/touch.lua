-- Writes the stamp of new limits into every bucket of an entity, so that no process with older limits writes
-- to it, and reads them all. Or deletes them all, except those that count usage: these are read and kept from
-- being charged by acquire.lua, so that put.lua can delete them and keep what they have counted.
--
-- KEYS[1]     the index of buckets of the entity; the buckets lie in the same slot
-- ARGV[1]     the prefix of the keys of the buckets
-- ARGV[2]     'forget', or the stamp of a change that concerns all buckets (0: there is none)
-- ARGV[3]     now, for tests (negative: ask the server)
-- ARGV[4...]  resource and stamp in turn, for changes that concern one bucket; with 'forget', resources that
--             the entity has limits on, with 0
--
-- Returns 3, now, then for each bucket its resource and its record as load.lua does. Buckets of format 1 get
-- no stamp.
local now, stamps, found = tonumber(ARGV[3]), {}, nil
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for i = 4, #ARGV, 2 do stamps[ARGV[i]] = tonumber(ARGV[i + 1]) end
found = {3, now}
local resources = redis.call('ZRANGE', KEYS[1], 0, -1)
if ARGV[2] == 'forget' then
  -- A bucket that another program has written may not be in the index.
  for _, resource in ipairs(resources) do stamps[resource] = 0 end
  for resource in pairs(stamps) do
    local key = ARGV[1] .. resource
    local value = redis.call('TYPE', key).ok == 'string' and redis.call('GET', key)
    if value and #value >= 96 and struct.unpack('<d', value) > 768 then
      redis.call('SETRANGE', key, 48, struct.pack('<d', 0))
      found[#found + 1] = resource
      found[#found + 1] = redis.call('GET', key)
    else
      redis.call('DEL', key)
      redis.call('ZREM', KEYS[1], resource)
    end
  end
  return found
end
for _, resource in ipairs(resources) do
  local key = ARGV[1] .. resource
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
return found
