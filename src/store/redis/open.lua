-- Reads what all processes on a store agree on. The first process makes it. A store of an earlier format becomes one
-- of this format, so that earlier versions of weir, which check this first, do not open it any more; its buckets and
-- markers are converted with their next write.
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
if (tonumber(found[1]) or 0) >= 1 and tonumber(found[1]) < tonumber(ARGV[1]) then
  found[1] = ARGV[1]
  redis.call('HSET', KEYS[1], 'format', ARGV[1])
end
local time = redis.call('TIME')
return {time[1], time[2], found[1], found[2], found[3]}
