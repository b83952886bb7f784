-- Keeps processes that know an older chain from creating buckets in a family that a chain leaves: put.lua
-- refuses plans of an earlier generation of the catalog than the fence has. acquire.lua need not check the
-- fence, since it charges only existing buckets, and a chain changes only while there is none.
--
-- KEYS[1]   the fence of the family
-- ARGV[1]   the generation that the change leads to, ARGV[2] a word that identifies this change
-- ARGV[3]   the lifetime of the fence in milliseconds (0: removes it, if it is the fence of this change)
--
-- A fence is never replaced by one of an earlier generation. Returns 1.
local found, mine = redis.call('GET', KEYS[1]) or '0', ARGV[1] .. ' ' .. ARGV[2]
if ARGV[3] == '0' then
  if found == mine then redis.call('DEL', KEYS[1]) end
elseif tonumber(string.match(found, '^%d+')) <= tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[3])
end
return 1
