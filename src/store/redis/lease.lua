-- Changes a lease once: charges differences to its buckets and leaves a marker.
--
-- KEYS[1]     the marker of the lease
-- KEYS[2..]   its buckets
-- ARGV[1]     little-endian doubles: now (-1: ask the server), deadline of the lease, how much longer the marker
--             stays, then for each bucket
--             stamp, known, digest (0: whatever stands there), keep (0: as it was), valid until, generation charged
-- ARGV[2]     the marker as it should be (empty: there is none)
-- ARGV[3]     the marker from now on (empty: as it is)
-- ARGV[3+k]   what to charge bucket k: name and amount in turn, words; negative amounts are given back
--
-- Answers a list:
--   1, now, state and parameters of each bucket   done; nil for a bucket that does not exist
--   2, now, stamp, k                              as in acquire.lua
--   3, now                                        not a plain case, nothing was done
--   4, now                                        past its deadline
--   5, now, marker                                the marker is another one
local never, wrap = 9007199254740992, 4503599627370496
local floor, ceil, get, put = math.floor, math.ceil, struct.unpack, struct.pack
local plan = ARGV[1]
local now, deadline, longer, at = get('<ddd', plan)
if now < 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end
if now >= deadline then return {4, now} end
local marker = redis.call('GET', KEYS[1])
if (marker or '') ~= ARGV[2] then return {5, now, marker} end

local function moment(from, amount, period, missing)
  if missing <= 0 then return from end
  local periods = floor(from / period)
  local due = floor((from - periods * period) * amount / period) + missing
  local whole = floor(due / amount)
  return (periods + whole) * period + ceil((due - whole * amount) * period / amount)
end

local answer, writes = {1, now}, {}
for k = 2, #KEYS do
  local stamp, known, digest, keep, valid, charged
  stamp, known, digest, keep, valid, charged, at = get('<dddddd', plan, at)
  if now >= valid then return {2, now, 0, k - 1} end
  local differences, left, more = {}, 0, false
  for name, amount in string.gmatch(ARGV[2 + k], '(%S+) (%S+)') do
    differences[name] = tonumber(amount)
    left = left + 1
    more = more or differences[name] > 0
  end
  local found = redis.call('HMGET', KEYS[k], 'b', 'p', 'd', 'k')
  local value, parameters = found[1], found[2]
  local refilled, expires, until_, version, seen, made, set, hold, from
  if value then
    refilled, expires, until_, version, seen, made, set, hold, from = get('<dddddddd', value)
    if expires <= now then value = nil end
  end
  if not value then
    -- A bucket that is gone was full; what would be given back is not missed. Charging makes a new one.
    if more then return {3, now} end
    answer[#answer + 1] = false
    answer[#answer + 1] = false
  else
    if seen > stamp and seen > known then return {2, now, seen, k - 1} end
    if (digest ~= 0 and set ~= digest) or version < stamp then return {3, now} end
    if keep == 0 then keep = tonumber(found[4]) end
    local moved = now > refilled and now or refilled
    local state, full, touched = {}, 0, false
    for name, capacity, burst, amount, period in
      string.gmatch(parameters, '(%S+) (%S+) (%S+) %S+ %S+ (%S+) (%S+)') do
      capacity, burst, amount, period = tonumber(capacity), tonumber(burst), tonumber(amount), tonumber(period)
      local tokens, consumed
      tokens, consumed, from = get('<dd', value, from)
      local last, present = floor(refilled / period), floor(moved / period)
      local whole = (present - last - 1) * amount
      if whole >= burst - tokens then
        tokens = burst
      else
        tokens = tokens + whole + (amount - floor((refilled - last * period) * amount / period)) +
          floor((moved - present * period) * amount / period)
        if tokens > burst then tokens = burst end
      end
      local difference = differences[name]
      if difference then
        left = left - 1
        if difference > 0 or made == charged then
          touched = true
          tokens = tokens - difference
          if tokens > burst then tokens = burst end
          consumed = consumed + difference
          if tokens < -wrap or consumed < 0 or consumed >= wrap then return {3, now} end
        end
      end
      full = math.max(full, moment(moved, amount, period, capacity - tokens))
      state[#state + 1] = tokens
      state[#state + 1] = consumed
    end
    -- Limits that are not in force any more, or were never here.
    if left > 0 and (more or found[3]) then return {3, now} end
    if touched then
      if keep == never then
        expires, until_ = never, never
      else
        expires = math.max(moved + keep, hold, full)
      end
      local stay
      if expires ~= never and (expires > until_ or until_ == never) then
        until_ = expires + floor(keep / 8) + 1000
        stay = until_ - moved
      end
      value = put('<dddddddd', moved, expires, until_, version, seen, made, set, hold) ..
        put('<' .. string.rep('d', #state), unpack(state))
      writes[#writes + 1] = {KEYS[k], value, stay}
    end
    answer[#answer + 1] = value
    answer[#answer + 1] = parameters
  end
end
for i = 1, #writes do
  redis.call('HSET', writes[i][1], 'b', writes[i][2])
  if writes[i][3] then redis.call('PEXPIRE', writes[i][1], writes[i][3]) end
end
if ARGV[3] ~= '' then redis.call('SET', KEYS[1], ARGV[3], 'PX', deadline - now + longer) end
return answer
