-- Charges all buckets of a chain, or none: the plain case, in which every bucket exists, has the limits of
-- the plan and stays out of debt. In every other case it returns the records; C++ then decides (src/decision)
-- and writes with put.lua. Any number of buckets and limits; nothing is written before everything was read.
--
-- KEYS      the buckets of the chain; with ARGV[2] also the marker of the lease
-- ARGV[1]   the plan, little-endian doubles:
--             now (for tests; -1: ask the server; -T: the server's clock, which the client estimates as T)
--             256: the buckets count usage; 0: they do not; -1: they all do or none does
--             for each bucket: head, stamp, known stamp, digest, keep, valid until, changes at, keep until, and
--               for each limit burst, rate amount, rate period, amount (2^53: not named; negative: given back)
--           followed by the resource
-- ARGV[2]   only with a marker, or if the deadline of a lease matters: the marker's text as the client knows it
--           (empty: there is none). `-`: no marker and no key of one, since only its holder knows the lease
-- ARGV[3]   its new text; of an acquire the part after the generations
-- ARGV[4]   of an acquire: how long its lease can be changed. Empty: this is a change to a lease, which
--           writes only the buckets of which it names a limit
-- ARGV[5]   the deadline of that lease, and from ARGV[6] on the generations that its buckets must have
--
-- In front of this text is holds.lua if a limit of the chain is concurrent, and `local hold_all` otherwise.
--
-- Returns a string if every bucket was charged and refilled now: generation, refilled at, expires at, tokens
-- and consumed of each limit, events if it counts usage, bucket by bucket. Otherwise a list:
--   1, now, these strings...            charged; a bucket was refilled later than now (the clock went back)
--   0, now, records..., marker          a limit holds too little; nothing written. nil: there is none
--   3, now, records..., marker          not the plain case; nothing written
--
-- A record (docs/format/redis.md) begins with these doubles: head (512 + number of limits), kept until,
-- version, stamp, digest, hold, plain until, generation, refilled at, expires at, then tokens and consumed of
-- each limit. A record with 768 in its head counts usage, in the hour that ends at plain until, and has the
-- number of events behind these. A charge writes those from the generation on, and kept until if the key must
-- live longer.
--
-- All numbers are integers below 2^53, and so are all products: a rate in lowest terms has amount * period <=
-- 2^53. Of such numbers a % b is exact, and (a - a % b) / b is the integer quotient. The time is the
-- server's: it is computed from PTTL, which costs half of TIME, and from the expiry of the key in the record.
-- If the result is far from the client's estimate, the key's expiry was changed by other means, and TIME is
-- used. One or two limits, the common case, need fewer calls.
local never, round, hour = 9007199254740992, 4503599627370496, 3600000
local get, put, call = struct.unpack, struct.pack, redis.call
local plan, count, marker = ARGV[1], #KEYS, nil
local now, counts, at = get('<dd', plan)
local tests = now >= 0
local code, later, states, longer, unnamed, texts, tills, ending = 1, false, {}, nil, nil, {}, {}, nil
if ARGV[2] == '-' then
  marker = false
elseif ARGV[2] then
  marker = call('GET', KEYS[count])
  count = count - 1
  if (marker or '') ~= ARGV[2] then code = 3 end
end

for k = 1, code == 1 and count or 0 do
  local limits, stamp, known, digest, keep, valid, change, after, burst, amount, period, asked
  limits, stamp, known, digest, keep, valid, change, after, burst, amount, period, asked, at = get('<dddddddddddd', plan, at)
  local value = limits > 514 and call('GET', KEYS[k]) or call('GETRANGE', KEYS[k], '0', '119')
  if #value < 104 then code = 3 break end
  local head, till, version, seen, set, stays, plain, made, refilled, expires, tokens, consumed, events =
    get('<ddddddddddddd', value)
  if counts < 0 then counts = head > 768 and 256 or 0 end
  if now < 0 then
    local left = now < -1 and call('PTTL', KEYS[k]) or -1
    local time = till - left
    if left < 0 or time + now > 100 or time + now < -100 then
      time = call('TIME')
      time = time[1] * 1000 + math.floor(time[2] / 1000)
    end
    now = time
  end
  local moved = now > refilled and now or refilled
  local concurrent, passed, last = plain < 0 and hold_all, nil, nil
  if concurrent then plain = moved == now and -plain or 0 end
  if head ~= limits + counts or set ~= digest or version < stamp or seen > known or expires <= now or now >= valid
    or moved >= plain or moved > now + 60000 or (moved > now and counts > 0 and now % hour > moved % hour)
    or (marker ~= nil and ARGV[5 + k] and made ~= tonumber(ARGV[5 + k])) then code = 3 break end
  if stays > keep then keep = stays end
  expires = keep < never and moved + keep or never
  if concurrent then
    value = call('GET', KEYS[k])
    texts[k], passed, last, ending = hold_all(value, 8 * (2 * (limits - 512) + (counts > 0 and 11 or 10)), at - 32,
      now, ending)
    if not passed then code = 3 break end
    if last > expires then expires = last end
    tills[k] = till
  end
  -- Other limits come into force before it expires: it must be full under them.
  if expires >= change and after > expires then expires = after end
  if moved ~= now then later = true end
  local changed, state, named, first, exhausted = 0, nil, nil, nil, nil
  for i = 513, limits do
    if moved ~= refilled then
      local last, present = refilled % period, moved % period
      local whole = (moved - present - refilled + last) / period - 1
      -- Saturate before any number can exceed 2^53.
      if whole * amount >= burst - tokens then
        tokens = burst
      else
        last, present = last * amount, present * amount
        tokens = tokens + whole * amount + (amount - (last - last % period) / period) +
          (present - present % period) / period
        if tokens > burst then tokens = burst end
      end
    end
    local held = passed and passed[i]
    if held then tokens = tokens + held end
    if asked < never then
      named = true
      if asked > tokens then code = 0 end
      tokens = tokens - asked
      if tokens > burst then tokens = burst end
      if asked ~= 0 and not held then consumed, changed = consumed + asked, 1 end
    end
    -- A debt extends the expiry, and a counter beyond 2^52 wraps around: C++ decides these cases.
    if code == 1 and (tokens < 0 or consumed < 0 or consumed >= round) then code = 3 end
    -- The last limit has the events behind it, which are packed only if the bucket counts them.
    local ends = i == limits and counts > 0
    if i > 514 then
      state = state .. put(ends and '<ddd' or '<dd', tokens, consumed, events + changed)
    elseif i == 514 then
      state = put(ends and '<dddddddd' or '<ddddddd', made, moved, expires, first, exhausted, tokens, consumed,
        events + changed)
    elseif i == limits then
      state = put(ends and '<dddddd' or '<ddddd', made, moved, expires, tokens, consumed, events + changed)
    end
    if i < limits then
      first, exhausted = tokens, consumed
      burst, amount, period, asked, at = get('<dddd', plan, at)
      tokens, consumed, events = get('<ddd', value, 16 * i - 8111)
    end
  end
  states[k] = state
  if not named and ARGV[4] == '' then
    unnamed = unnamed or {}
    unnamed[k] = true
  elseif expires > till then
    longer = longer or {}
    longer[k] = expires < never and expires + math.floor(keep / 8) + 1000 or never
  end
end

if now < 0 then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
local deadline = marker ~= nil and (tonumber(ARGV[5]) or ending or now + ARGV[4])
if deadline and now >= deadline then code = 3 end
if code ~= 1 then
  local answer = {code, now}
  for k = 1, count do answer[k + 2] = call('GET', KEYS[k]) end
  answer[count + 3] = marker
  return answer
end

local expire, from = tests and 'PEXPIRE' or 'PEXPIREAT', tests and now or 0
for k = 1, count do
  if not (unnamed and unnamed[k]) then
    if texts[k] then
      call('SET', KEYS[k], call('GETRANGE', KEYS[k], '0', '55') .. states[k] .. texts[k])
      if tills[k] < never then call(expire, KEYS[k], tills[k] - from) end
    else
      call('SETRANGE', KEYS[k], '56', states[k])
    end
  end
end
if longer then
  for k, till in pairs(longer) do
    local index = string.gsub(string.sub(KEYS[k], 1, at - #plan - 3), '}:b:', '}:i:', 1)
    call('SETRANGE', KEYS[k], '8', put('<d', till))
    call(expire, KEYS[k], till - from)
    local left = call('PTTL', index)
    if left >= 0 and left < till - now then call(expire, index, till - from) end
  end
end
if deadline and ARGV[2] ~= '-' then
  local text = ARGV[3]
  if ARGV[4] ~= '' then
    local generations = ''
    for k = 1, count do generations = generations .. string.format(' %.0f', (get('<d', states[k]))) end
    text = string.format('2 0 %.0f %d', deadline, count) .. generations .. text
  end
  call('SET', KEYS[count + 1], text, 'PX', deadline - now + 60000)
end
if later then return {1, now, unpack(states)} end
return count == 1 and states[1] or table.concat(states)
