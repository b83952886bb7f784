-- Admits a whole plan and charges it, or refuses it. One call, whatever the number of limits and buckets.
--
-- KEYS      the buckets of the chain
-- ARGV[1]   the plan, little-endian doubles:
--             now (-1: ask the server), then for each bucket
--             limits, stamp, known, digest, keep, valid until, generation, then for each of its limits
--             burst, rate amount, rate period, amount asked (-1: not named), capacity
-- ARGV[2]   what new buckets need, a line each: the resource, then for each bucket the key of its entity's index (in
--           the slot of the bucket) and its parameters
--
-- Answers the new state of the only bucket (admitted, the plain case), or a list:
--   1, now, states...          admitted
--   0, now, states or nil...   refused; the states are those before
--   2, now, stamp, k           bucket k has seen newer limits than the plan (0: they have expired): resolve again
--   3, now, hashes...          some bucket does not stand under the plan's limits: decide with all there is
--
-- State of a bucket: refilled at, expires at, kept until, version, stamp, generation, digest, hold, keep, then
-- tokens and consumed of each limit. See docs/format/redis.md. Every number is an integer below 2^53, and so is
-- every product here, because a rate in lowest terms has amount * period <= 2^53. Of such numbers a % b is exact,
-- and (a - a % b) / b is the whole quotient.
--
-- First the plain case, in which all buckets are there, stand under the plan's limits and have enough: nothing is
-- looked at twice and nothing is put into tables. Whatever else is found is left to the second part.
local never, wrap = 9007199254740992, 4503599627370496
local get, put, call = struct.unpack, struct.pack, redis.call
local plan, count = ARGV[1], #KEYS
local now, at = get('<d', plan)
if now < 0 then
  local time = call('TIME')
  now = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
end
local plain, first, second, others = true, nil, nil, nil
for k = 1, count do
  local limits, stamp, known, digest, keep, valid, generation
  limits, stamp, known, digest, keep, valid, generation, at = get('<ddddddd', plan, at)
  local value = call('HGET', KEYS[k], 'b')
  if not value or limits > 2 or #value ~= 72 + 16 * limits or now >= valid then plain = false break end
  local refilled, expires, until_, version, seen, made, set, hold, kept, tokens, consumed, tokens2, consumed2
  if limits == 2 then
    refilled, expires, until_, version, seen, made, set, hold, kept, tokens, consumed, tokens2, consumed2 =
      get('<ddddddddddddd', value)
  else
    refilled, expires, until_, version, seen, made, set, hold, kept, tokens, consumed = get('<ddddddddddd', value)
  end
  if set ~= digest or version < stamp or seen > known or expires <= now then plain = false break end
  local moved = now > refilled and now or refilled
  expires = moved + keep
  if hold > expires then expires = hold end
  if keep == never then expires = never end
  if expires > until_ then plain = false break end

  local burst, amount, period, asked, capacity
  burst, amount, period, asked, capacity, at = get('<ddddd', plan, at)
  local rest, last = moved % period, refilled % period
  local whole = (moved - rest - refilled + last) / period
  -- Saturated before anything can grow beyond 2^53.
  if (whole - 1) * amount >= burst - tokens then
    tokens = burst
  else
    rest, last = rest * amount, last * amount
    tokens = tokens + (whole - 1) * amount + (amount - (last - last % period) / period) + (rest - rest % period) / period
    if tokens > burst then tokens = burst end
  end
  if asked >= 0 then
    tokens = tokens - asked
    consumed = consumed + asked
    if consumed >= wrap then plain = false break end
  end
  if tokens < 0 then plain = false break end

  if limits == 2 then
    burst, amount, period, asked, capacity, at = get('<ddddd', plan, at)
    rest, last = moved % period, refilled % period
    whole = (moved - rest - refilled + last) / period
    if (whole - 1) * amount >= burst - tokens2 then
      tokens2 = burst
    else
      rest, last = rest * amount, last * amount
      tokens2 = tokens2 + (whole - 1) * amount + (amount - (last - last % period) / period) +
        (rest - rest % period) / period
      if tokens2 > burst then tokens2 = burst end
    end
    if asked >= 0 then
      tokens2 = tokens2 - asked
      consumed2 = consumed2 + asked
      if consumed2 >= wrap then plain = false break end
    end
    if tokens2 < 0 then plain = false break end
    value = put('<ddddddddddddd', moved, expires, until_, version, seen, made, set, hold, keep, tokens, consumed, tokens2,
      consumed2)
  else
    value = put('<ddddddddddd', moved, expires, until_, version, seen, made, set, hold, keep, tokens, consumed)
  end
  if k == 1 then
    first = value
    if moved ~= now then second = false end
  elseif k == 2 and second == nil then
    second = value
  else
    others = others or {}
    others[k] = value
  end
end
if plain then
  call('HSET', KEYS[1], 'b', first)
  if count == 1 and second == nil then return first end
  local answer = {1, now, first}
  for k = 2, count do
    answer[k + 2] = k == 2 and second or others[k]
    call('HSET', KEYS[k], 'b', answer[k + 2])
  end
  return answer
end

-- Second part: everything.
local floor, ceil = math.floor, math.ceil
local lines = {}
for line in string.gmatch(ARGV[2], '[^\n]+') do lines[#lines + 1] = line end
at = 9

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
  return found
end

local old, states, new, fits = {}, {}, {}, true
local stays, lasts, carries, charged = {}, now, nil, {}
for k = 1, count do
  local limits, stamp, known, digest, keep, valid, generation
  limits, stamp, known, digest, keep, valid, generation, at = get('<ddddddd', plan, at)
  local first = at
  if now >= valid then return {2, now, 0, k} end
  local value = redis.call('HGET', KEYS[k], 'b')
  local refilled, expires, until_, version, seen, made, set, hold, from
  if value then
    refilled, expires, until_, version, seen, made, set, hold, from = get('<dddddddd', value)
    from = from + 8
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
  local state = {moved, 0, until_, version, seen, made, set, hold, keep}
  local own, size, debt = true, 9, false
  for i = 1, limits do
    local burst, amount, period, asked, capacity, tokens, consumed
    burst, amount, period, asked, capacity, at = get('<ddddd', plan, at)
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
      tokens, consumed = capacity, 0
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
        if hold > 0 then charged[#charged + 1] = {k, 8 + 2 * i, asked} end
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
        local burst, amount, period, asked, capacity = get('<ddddd', plan, first + (i - 1) * 40)
        local full = moment(moved, amount, period, capacity - state[8 + 2 * i])
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
  local index = lines[2 * k]
  local left = redis.call('PTTL', index)
  redis.call('ZADD', index, 0, lines[1])
  if not stay then
    if left >= 0 then redis.call('PERSIST', index) end
  elseif left ~= -1 and left < stay then
    redis.call('PEXPIRE', index, stay)
  end
end

local function write(k, value, stay)
  if new[k] then
    if new[k] == 2 then redis.call('DEL', KEYS[k]) end
    redis.call('HSET', KEYS[k], 'b', value, 'p', lines[2 * k + 1])
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
    local keep = state[9]
    if not value and new[-k] then
      -- A new bucket holds its capacities; take back what was charged above.
      local skip = 8
      for j = 1, k - 1 do skip = skip + 56 + 20 * (#states[j] - 9) end
      for i = 1, (#state - 9) / 2 do
        local burst, amount, period, asked, capacity = get('<ddddd', plan, 1 + skip + 56 + (i - 1) * 40)
        state[8 + 2 * i], state[9 + 2 * i] = capacity, 0
      end
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
