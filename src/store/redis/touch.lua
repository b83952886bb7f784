-- Tells every bucket of an entity that its limits have changed, so that no process with older ones writes to it,
-- and puts its expiry off where the new limits ask for it. Or forgets them all.
--
-- KEYS[1]     the index of buckets of the entity; the buckets lie in the same slot
-- ARGV[1]     what the keys of the buckets begin with
-- ARGV[2]     'touch' or 'forget'
-- ARGV[3]     now (-1: ask the server)
-- ARGV[4]     the stamp of a change that concerns all of them (0: there is none)
-- ARGV[5...]  resource, earliest expiry (0: as it is) and stamp (0: as it is) in turn
--
-- Answers how many buckets there were.
local resources = redis.call('ZRANGE', KEYS[1], 0, -1)
if ARGV[2] == 'forget' then
  for i = 1, #resources do redis.call('DEL', ARGV[1] .. resources[i]) end
  redis.call('DEL', KEYS[1])
  return #resources
end
local never = 9007199254740992
local now, stamp, earliest, stamps = tonumber(ARGV[3]), tonumber(ARGV[4]), {}, {}
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for i = 5, #ARGV, 3 do
  earliest[ARGV[i]] = tonumber(ARGV[i + 1])
  stamps[ARGV[i]] = tonumber(ARGV[i + 2])
end
for i = 1, #resources do
  local key = ARGV[1] .. resources[i]
  local value = redis.call('HGET', key, 'b')
  if value then
    local refilled, expires, until_, version, seen = struct.unpack('<ddddd', value)
    local wanted = earliest[resources[i]]
    if wanted and wanted > expires and expires > now then
      expires = wanted
      if expires >= never then
        until_ = never
        redis.call('PERSIST', key)
        redis.call('PERSIST', KEYS[1])
      elseif until_ ~= never and expires > until_ then
        until_ = expires + 1000
        redis.call('PEXPIRE', key, until_ - now)
        local left = redis.call('PTTL', KEYS[1])
        if left >= 0 and left < until_ - now then redis.call('PEXPIRE', KEYS[1], until_ - now) end
      end
    end
    seen = math.max(seen, stamp, stamps[resources[i]] or 0)
    redis.call('HSET', key, 'b', struct.pack('<ddddd', refilled, expires, until_, version, seen) .. string.sub(value, 41))
  end
end
return #resources
