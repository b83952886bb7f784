-- The concurrent limits of a bucket, for acquire.lua, which follows this text where a chain has some. The rules are
-- those of src/bucket/holds.cc. Numbers are integers below 2^53.

-- The holds of one limit, as pairs of deadline and amount: drops the pairs that have passed, and adds an amount
-- under a deadline, or takes it from the pairs that end then or later. Returns the pairs, the sum of what has passed,
-- the last deadline, and whether C++ has to do it: the list is full, or holds less than is taken from it.
local function hold(list, now, deadline, amount)
  local kept, passed, last = {}, 0, 0
  local function keep(time, held)
    if held > 0 then kept[#kept + 1], last = string.format(' %.0f %.0f', time, held), time end
  end
  for time, held in string.gmatch(list, '(%d+) (%d+)') do
    time, held = tonumber(time), tonumber(held)
    if time <= now then
      passed = passed + held
    elseif amount == 0 or time < deadline then
      keep(time, held)
    elseif amount < 0 or time == deadline then
      keep(time, held + amount)
      amount = math.min(held + amount, 0)
    else
      keep(deadline, amount)
      keep(time, held)
      amount = 0
    end
  end
  if amount > 0 then keep(deadline, amount) end
  return table.concat(kept), passed, last, amount < 0 or #kept > 16
end

-- The deadline of a lease that takes something: rounded up to a multiple of an eighth of its length.
local function rounded(now, length)
  local step, time = math.max(math.floor(length / 8), 1), now + length
  return time % step == 0 and time or time - time % step + step
end

-- All limits of a bucket. `value`: its record, whose text begins after `numbers` bytes. `first`: where the plan has
-- the first limit. `ending`: the deadline of the lease, where it is known already. Returns the new text, how much of
-- each limit has passed, the last deadline of all, and `ending`; nothing where C++ has to do it.
local function hold_all(value, numbers, first, now, ending)
  local text = string.sub(value, numbers + 1)
  local lists, lines, passed, last, i = {}, '', {}, 0, 513
  for name, list in string.gmatch(text, '\n!holds (%S+)([^\n]*)') do lists[name] = list end
  for name in string.gmatch(string.match(text, '^[^\n]*'), '(%S+) %d+ %d+ %d+ %d+ %d+ %d+') do
    local _, rate, _, asked = struct.unpack('<dddd', ARGV[1], first + 32 * (i - 513))
    if rate == 0 then
      local amount = asked < 9007199254740992 and asked or 0
      if amount ~= 0 then ending = ending or tonumber(ARGV[5]) or rounded(now, tonumber(ARGV[4])) end
      local pairs, past, ends, other = hold(lists[name] or '', now, ending, amount)
      if other or (ending or 0) > 9007199254740992 then return nil end
      if pairs ~= '' then lines = lines .. '\n!holds ' .. name .. pairs end
      passed[i], last = past, math.max(last, ends)
    end
    i = i + 1
  end
  return string.gsub(text, '\n!holds [^\n]*', '') .. lines, passed, last, ending
end
