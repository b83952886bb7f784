-- Reads the settings that all processes on a store share. The first process creates them. A store of an
-- earlier format is raised to this one, so that earlier versions of weir, which check the format first,
-- refuse to open it; its buckets and markers are converted with their next write.
--
-- KEYS[1]   the settings of the store, a hash
-- ARGV[1]   the version of the format, ARGV[2] the lease key to store if there is none
--
-- Returns seconds and microseconds of the server's time, version, lease key, and how long the audit, hours of
-- usage and days of usage are kept (nil: the default).
local found = redis.call('HMGET', KEYS[1], 'format', 'lease_key', 'keep_audit_for', 'keep_usage_hours',
  'keep_usage_days')
for i, name in ipairs({'format', 'lease_key'}) do
  if not found[i] then
    found[i] = ARGV[i]
    redis.call('HSET', KEYS[1], name, ARGV[i])
  end
end
if (tonumber(found[1]) or 0) >= 1 and tonumber(found[1]) < tonumber(ARGV[1]) then
  found[1] = ARGV[1]
  redis.call('HSET', KEYS[1], 'format', ARGV[1])
end
local time = redis.call('TIME')
return {time[1], time[2], found[1], found[2], found[3] or '', found[4] or '', found[5] or ''}
