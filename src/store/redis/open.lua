-- Reads what all processes on a store agree on. Whoever comes first makes it.
--
-- KEYS[1]   the settings of the store, a hash
-- ARGV[1]   the version of the format, ARGV[2] the lease key, where there is none
--
-- Answers seconds and microseconds of the server's time, version, lease key, for how long the audit is kept (nil: as
-- usual).
local found = redis.call('HMGET', KEYS[1], 'format', 'lease_key', 'keep_audit_for')
for i, name in ipairs({'format', 'lease_key'}) do
  if not found[i] then
    found[i] = ARGV[i]
    redis.call('HSET', KEYS[1], name, ARGV[i])
  end
end
local time = redis.call('TIME')
return {time[1], time[2], found[1], found[2], found[3]}
