-- Reads the usage of a bucket: its record, in which the present hour is counted, and the days that were asked
-- for, at one moment.
--
-- KEYS[1]     the bucket, KEYS[2] its usage
-- ARGV[1..2]  the first and the last day
--
-- Returns the record (nil: there is none), the first later day that has usage (-1: none; -2: the key of the
-- usage has another type), then the names and texts of the days.
local first, last, found = tonumber(ARGV[1]), tonumber(ARGV[2]), {false, -1}
if redis.call('TYPE', KEYS[1]).ok == 'string' then found[1] = redis.call('GET', KEYS[1]) end
local names = redis.pcall('HKEYS', KEYS[2])
if names.err then return {found[1], -2} end
for _, name in ipairs(names) do
  local day = tonumber(string.match(name, '^d?(%d+)$'))
  if day and day > last then
    if found[2] < 0 or day < found[2] then found[2] = day end
  elseif day and day >= first then
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[2], name)
  end
end
return found
