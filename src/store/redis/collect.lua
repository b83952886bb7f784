-- Maintains the usage of a bucket: deletes days that are too old, and returns the days that are to be folded.
--
-- KEYS[1]     the bucket, KEYS[2] its usage; on a single server KEYS[3], the index of usage
-- ARGV[1]     hours before this day are folded into days, ARGV[2] days before this one are deleted
-- ARGV[3..4]  the members of the bucket in the index
--
-- Returns the record (nil: there is none); whether the bucket has usage (0: none, and it is not in the index
-- of a single server any more; -1: the key has another type); how many open segments are gone with their
-- bucket; then for each day to fold: the day, its segments, and the day's sum so far (empty: none). One call
-- returns a bounded number of days.
local most_days = 8
local record = redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1])
local counts = record and #record >= 96 and struct.unpack('<d', record) > 768
local names = redis.pcall('HKEYS', KEYS[2])
if names.err then return {record, -1, 0} end
if #names == 0 and not counts then
  if KEYS[3] then redis.call('ZREM', KEYS[3], ARGV[3], ARGV[4]) end
  return {record, 0, 0}
end
local lost, found = tonumber(redis.call('HGET', KEYS[2], 'lost')) or 0, {record, 1, 0}
if not counts and tonumber(redis.call('HGET', KEYS[2], 'o')) then
  redis.call('HSET', KEYS[2], 'o', '')
  lost = lost + 1
end
if lost > 0 then redis.call('HDEL', KEYS[2], 'lost') end
found[3] = lost
for _, name in ipairs(names) do
  local whole, digits = string.match(name, '^(d?)(%d+)$')
  local day = tonumber(digits)
  if day and day < tonumber(ARGV[2]) then
    redis.call('HDEL', KEYS[2], name)
  elseif day and whole == '' and day < tonumber(ARGV[1]) and #found < 3 + 3 * most_days then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[2], name)
    found[#found + 1] = redis.call('HGET', KEYS[2], 'd' .. name) or ''
  end
end
return found
