-- Keeps processes that know an older chain from making buckets in a family that a chain leaves: put.lua writes none
-- by a plan of an earlier generation of the catalog than the fence says. acquire.lua need not look at it, since it
-- charges only buckets that exist, and a chain changes only while there is none.
--
-- KEYS[1]   the fence of the family
-- ARGV[1]   the generation that the change leads to, ARGV[2] a word that tells this change from others
-- ARGV[3]   for how long the fence stays (0: it is taken away again, if it is this one)
--
-- A fence is never replaced by one of an earlier generation. Answers 1.
local found, mine = redis.call('GET', KEYS[1]) or '0', ARGV[1] .. ' ' .. ARGV[2]
if ARGV[3] == '0' then
  if found == mine then redis.call('DEL', KEYS[1]) end
elseif tonumber(string.match(found, '^%d+')) <= tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], mine, 'PX', ARGV[3])
end
return 1
