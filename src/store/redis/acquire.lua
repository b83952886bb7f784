-- Admits a whole plan and charges it, or refuses it. One call, whatever the number of limits and buckets.
--
-- KEYS      the buckets of the chain; of a plan that is charged once however often it is sent, also the marker of its
--           lease
-- ARGV[1]   the plan, little-endian doubles:
--             now (-1: ask the server; -T: the server's clock has reached T), the size of this in bytes, then for each
--             bucket
--             limits, stamp, known, digest, keep, valid until, then for each of its limits
--             burst, rate amount, rate period, amount asked (-1: not named)
--           behind it, for new buckets, a line each: generation and resource, then the parameters of each bucket. A new
--           bucket also enters the index of its entity, whose key lies in the same slot: ...:b:ENTITY:RESOURCE is in
--           ...:i:ENTITY
-- ARGV[2..] only with a marker: for how long the lease can be changed, how much longer the marker stays, and the
--           marker's text before and behind the deadline
--
-- Answers the new states of all buckets, one behind the other (admitted, at the moment that they were refilled), or a
-- list:
--   1, now, states...          admitted
--   0, now, states or nil...   refused; the states are those before
--   2, now, stamp, k           bucket k has seen newer limits than the plan (0: they have expired): resolve again
--   3, now, hashes...          some bucket does not stand under the plan's limits, or there is a marker already: decide
--                              with all there is, which the marker (nil: none) stands behind
--
-- State of a bucket: refilled at, expires at, kept until, version, stamp, generation, digest, hold, then tokens and
-- consumed of each limit. See docs/format/redis.md. Every number is an integer below 2^53, and so is
-- every product here, because a rate in lowest terms has amount * period <= 2^53. Of such numbers a % b is exact,
-- and (a - a % b) / b is the whole quotient.
--
-- First the plain case, in which all buckets are there, stand under the plan's limits and have enough: nothing is
-- looked at twice and nothing is put into tables. Whatever else is found is left to the second part.
--
-- Asking for the time costs a sixth of it all. Who has just heard it knows a moment that has passed for certain: what
-- is there by then is there now. Where that is not enough to admit, the second part asks.
local never, wrap = 9007199254740992, 4503599627370496
local get, put, call = struct.unpack, struct.pack, redis.call
local plan, count = ARGV[1], #KEYS
local now, size, at = get('<dd', plan)
local passed, slack = now < -1, 0
if passed then
  -- It may have done so some milliseconds ago.
  now, slack = -now, 8
elseif now < 0 then
  local time = call('TIME')
  local part = time[2] / 1000
  now = time[1] * 1000 + part - part % 1
end
local lease_for, marker = ARGV[2], nil
if lease_for then
  count = count - 1
  marker = call('GET', KEYS[count + 1])
  -- One that is past its deadline says nothing any more.
  if marker and now < tonumber(string.match(marker, '^%S+ %S+ (%S+)')) then
    local found = {3, now}
    for k = 1, count do found[k + 2] = call('HGETALL', KEYS[k]) end
    found[count + 3] = marker
    return found
  end
end
local mark = lease_for and function()
  call('SET', KEYS[count + 1], ARGV[4] .. string.format('%.0f', now + lease_for) .. ARGV[5], 'PX', lease_for + ARGV[3])
end
local two = size == 16 + 112 * count
local plain, late, first, second, others = two or size == 16 + 80 * count, false, nil, nil, nil
for k = 1, plain and count or 0 do
  local limits, stamp, known, digest, keep, valid, burst, amount, period, asked, burst2, amount2, period2, asked2
  local refilled, expires, until_, version, seen, made, set, hold, tokens, consumed, tokens2, consumed2
  local value = call('HGET', KEYS[k], 'b')
  if not value then plain = false break end
  if two then
    limits, stamp, known, digest, keep, valid, burst, amount, period, asked, burst2, amount2, period2, asked2, at =
      get('<dddddddddddddd', plan, at)
    if limits ~= 2 or #value ~= 96 then plain = false break end
    refilled, expires, until_, version, seen, made, set, hold, tokens, consumed, tokens2, consumed2 =
      get('<dddddddddddd', value)
  else
    limits, stamp, known, digest, keep, valid, burst, amount, period, asked, at = get('<dddddddddd', plan, at)
    if limits ~= 1 or #value ~= 80 then plain = false break end
    refilled, expires, until_, version, seen, made, set, hold, tokens, consumed = get('<dddddddddd', value)
  end
  if set ~= digest or version < stamp or seen > known or expires <= now + slack or now + slack >= valid then
    plain = false
    break
  end
  local moved = now > refilled and now or refilled
  expires = moved + keep
  if hold > expires then expires = hold end
  if keep == never then expires = never end
  if expires > until_ then plain = false break end

  local rest, last, whole
  if moved ~= refilled then
    rest, last = moved % period, refilled % period
    whole = (moved - rest - refilled + last) / period
    -- Saturated before anything can grow beyond 2^53.
    if (whole - 1) * amount >= burst - tokens then
      tokens = burst
    else
      rest, last = rest * amount, last * amount
      tokens = tokens + (whole - 1) * amount + (amount - (last - last % period) / period) + (rest - rest % period) / period
      if tokens > burst then tokens = burst end
    end
  end
  if asked >= 0 then
    tokens = tokens - asked
    consumed = consumed + asked
    if consumed >= wrap then plain = false break end
  end
  if tokens < 0 then plain = false break end

  if two then
    if moved ~= refilled then
      rest, last = moved % period2, refilled % period2
      whole = (moved - rest - refilled + last) / period2
      if (whole - 1) * amount2 >= burst2 - tokens2 then
        tokens2 = burst2
      else
        rest, last = rest * amount2, last * amount2
        tokens2 = tokens2 + (whole - 1) * amount2 + (amount2 - (last - last % period2) / period2) +
          (rest - rest % period2) / period2
        if tokens2 > burst2 then tokens2 = burst2 end
      end
    end
    if asked2 >= 0 then
      tokens2 = tokens2 - asked2
      consumed2 = consumed2 + asked2
      if consumed2 >= wrap then plain = false break end
    end
    if tokens2 < 0 then plain = false break end
    value = put('<dddddddddddd', moved, expires, until_, version, seen, made, set, hold, tokens, consumed, tokens2,
      consumed2)
  else
    value = put('<dddddddddd', moved, expires, until_, version, seen, made, set, hold, tokens, consumed)
  end
  if moved > now + slack then late = true end
  if k == 1 then
    first = value
  elseif k == 2 then
    second = value
  else
    others = others or {}
    others[k] = value
  end
end
if plain then
  call('HSET', KEYS[1], 'b', first)
  if second then call('HSET', KEYS[2], 'b', second) end
  for k = 3, count do call('HSET', KEYS[k], 'b', others[k]) end
  if mark then mark() end
  if late then
    local answer = {1, now, first, second}
    for k = 3, count do answer[k + 2] = others[k] end
    return answer
  end
  if not second then return first end
  return others and first .. second .. table.concat(others, '', 3) or first .. second
end

-- Second part: everything.
local floor, ceil = math.floor, math.ceil
if passed then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
end
local lines = {}
for line in string.gmatch(string.sub(plan, size + 1), '[^\n]+') do lines[#lines + 1] = line end
local generation, resource = string.match(lines[1], '(%S+) (%S+)')
generation = tonumber(generation)
at = 17

-- The least moment from `from` on at which `missing` more are granted.
local function moment(from, amount, period, missing)
  if missing <= 0 then return from end
  local periods = floor(from / period)
  local due = floor((from - periods * period) * amount / period) + missing
  local whole = floor(due / amount)
  return (periods + whole) * period + ceil((due - whole * amount) * period / amount)
end

local function hashes()
  local found = {3, now}
  for k = 1, count do found[k + 2] = redis.call('HGETALL', KEYS[k]) end
  if lease_for then found[count + 3] = marker end
  return found
end

local old, states, new, fits = {}, {}, {}, true
local stays, lasts, carries, charged = {}, now, nil, {}
local starts, fills, keeps = {}, {}, {}
for k = 1, count do
  local limits, stamp, known, digest, keep, valid
  limits, stamp, known, digest, keep, valid, at = get('<dddddd', plan, at)
  local capacities = {}
  for capacity in string.gmatch(lines[1 + k], '%S+ (%S+) %S+ %S+ %S+ %S+ %S+') do
    capacities[#capacities + 1] = tonumber(capacity)
  end
  starts[k], fills[k], keeps[k] = at, capacities, keep
  if now >= valid then return {2, now, 0, k} end
  local value = redis.call('HGET', KEYS[k], 'b')
  local refilled, expires, until_, version, seen, made, set, hold, from
  if value then
    refilled, expires, until_, version, seen, made, set, hold, from = get('<dddddddd', value)
    if expires > now then
      if seen > stamp and seen > known then return {2, now, seen, k} end
      if set ~= digest or version < stamp then return hashes() end
    else
      value = nil
      new[k] = 2
    end
  else
    new[k] = 1
  end
  old[k] = value
  if not value then
    refilled, expires, until_, version, seen, made, set, hold = now, 0, 0, stamp, stamp, generation, digest, 0
  end
  local moved = now > refilled and now or refilled
  local state = {moved, 0, until_, version, seen, made, set, hold}
  local own, size, debt = true, 8, false
  for i = 1, limits do
    local burst, amount, period, asked, tokens, consumed
    burst, amount, period, asked, at = get('<dddd', plan, at)
    if value then
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
    else
      tokens, consumed = capacities[i], 0
    end
    if asked >= 0 then
      if asked > tokens then
        own = false
        if asked > burst then
          lasts = never
        elseif lasts ~= never then
          local open = moment(moved, amount, period, asked - tokens)
          if open > lasts then lasts = open end
        end
      else
        tokens = tokens - asked
        consumed = consumed + asked
        if hold > 0 then charged[#charged + 1] = {k, 7 + 2 * i, asked} end
        if consumed >= wrap then
          consumed = consumed - wrap
          carries = carries or {}
          carries[#carries + 1] = {KEYS[k], 'o' .. i}
        end
      end
    end
    if tokens < 0 then debt = true end
    state[size + 1], state[size + 2] = tokens, consumed
    size = size + 2
  end
  fits = fits and own
  if keep == never then
    expires = never
  else
    expires = moved + keep
    if hold > expires then expires = hold end
    if debt then
      -- Out of debt every limit is full within its time to fill, which `keep` is never less than.
      for i = 1, limits do
        local burst, amount, period = get('<ddd', plan, starts[k] + (i - 1) * 32)
        local full = moment(moved, amount, period, capacities[i] - state[7 + 2 * i])
        if full > expires then expires = full end
      end
    end
    -- The key outlives the bucket by a little, so that it need not be told with every charge.
    if expires > until_ or until_ == never then
      until_ = expires + floor(keep / 8) + 1000
      stays[k] = until_ - moved
    end
  end
  state[2], state[3] = expires, keep == never and never or until_
  states[k] = state
  if not own then new[-k] = true end
end

local function enter(k, stay)
  local index = string.gsub(string.sub(KEYS[k], 1, -#resource - 2), '}:b:', '}:i:', 1)
  local left = redis.call('PTTL', index)
  redis.call('ZADD', index, 0, resource)
  if not stay then
    if left >= 0 then redis.call('PERSIST', index) end
  elseif left ~= -1 and left < stay then
    redis.call('PEXPIRE', index, stay)
  end
end

local function write(k, value, stay)
  if new[k] then
    if new[k] == 2 then redis.call('DEL', KEYS[k]) end
    redis.call('HSET', KEYS[k], 'b', value, 'p', lines[1 + k], 'k', string.format('%.0f', keeps[k]))
  else
    redis.call('HSET', KEYS[k], 'b', value)
  end
  if stay then redis.call('PEXPIRE', KEYS[k], stay) end
  if stay or new[k] then enter(k, stay) end
end

if fits then
  local answer = {1, now}
  for k = 1, count do
    local state = states[k]
    local value = put('<' .. string.rep('d', #state), unpack(state))
    write(k, value, stays[k])
    answer[k + 2] = value
  end
  if mark then mark() end
  if carries then
    for i = 1, #carries do redis.call('HINCRBY', carries[i][1], carries[i][2], 1) end
  end
  if count == 1 and states[1][1] == now then return answer[3] end
  return answer
end

-- Refused: no balance changes. But the moment that is named must be kept: until then no bucket may vanish, and
-- one that has to grow first must be there to grow.
if lasts ~= never then
  for k = 1, count do
    local state, value = states[k], old[k]
    local keep = keeps[k]
    if not value and new[-k] then
      -- A new bucket holds its capacities; take back what was charged above.
      for i = 1, #fills[k] do state[7 + 2 * i], state[8 + 2 * i] = fills[k][i], 0 end
      if keep ~= never then
        state[2] = lasts + keep
        state[3] = state[2] + floor(keep / 8) + 1000
      end
      write(k, put('<' .. string.rep('d', #state), unpack(state)), keep ~= never and state[3] - now or nil)
    elseif value and state[8] > 0 and new[-k] then
      -- Limits that are not in force are forgotten with the first write after they are full: claim the refill.
      for i = 1, #charged do
        if charged[i][1] == k then
          state[charged[i][2]] = state[charged[i][2]] + charged[i][3]
          state[charged[i][2] + 1] = state[charged[i][2] + 1] - charged[i][3]
        end
      end
      if keep ~= never and lasts + keep > state[2] then
        state[2] = lasts + keep
        state[3] = state[2] + floor(keep / 8) + 1000
        stays[k] = state[3] - now
      end
      write(k, put('<' .. string.rep('d', #state), unpack(state)), stays[k])
    elseif value and keep ~= never then
      local expires, until_ = get('<dd', value, 9)
      if lasts + keep > expires then
        expires = lasts + keep
        local stay
        if expires > until_ or until_ == never then
          until_ = expires + floor(keep / 8) + 1000
          stay = until_ - now
        end
        write(k, string.sub(value, 1, 8) .. put('<dd', expires, until_) .. string.sub(value, 25), stay)
      end
    end
  end
end
local answer = {0, now}
for k = 1, count do answer[k + 2] = old[k] or false end
return answer
