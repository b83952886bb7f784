#include "bucket/holds.h"

#include <algorithm>
#include <utility>

#include "base/wide.h"

namespace weir::bucket {
namespace {

/// Far above every deadline and amount, and far below an overflow of their sums. A deadline is exact as a
/// double.
constexpr Time most_deadline = Time{1} << 53;
constexpr std::int64_t most_held = std::int64_t{1} << 55;

Holds::iterator at_or_after(Holds& holds, Time deadline) {
  return std::lower_bound(holds.begin(), holds.end(), deadline,
                          [](const Hold& hold, Time time) { return hold.deadline < time; });
}

/// Joins the two neighbours whose deadlines are closest, under the later one.
void join_closest(Holds& holds) {
  auto closest = holds.begin();
  for (auto at = holds.begin(); at + 1 != holds.end(); ++at) {
    if ((at + 1)->deadline - at->deadline < (closest + 1)->deadline - closest->deadline) closest = at;
  }
  (closest + 1)->amount += closest->amount;
  holds.erase(closest);
}

void append_number(std::string& text, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) text += static_cast<char>((number & 0x7FU) | 0x80U);
  text += static_cast<char>(number);
}

/// Takes a number from the text; nothing where it is cut off, too large, or longer than necessary.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 63 && !text.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(text.front());
    text.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if ((byte & 0x80U) != 0) continue;
    if (byte == 0 && shift > 0) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  return std::nullopt;
}

}  // namespace

std::int64_t total(std::span<const Hold> holds) {
  std::int64_t sum = 0;
  for (const Hold& hold : holds) sum = base::saturating_add(sum, hold.amount);
  return sum;
}

Holds live(std::span<const Hold> holds, Time at) {
  const auto first =
      std::find_if(holds.begin(), holds.end(), [at](const Hold& hold) { return hold.deadline > at; });
  return {first, holds.end()};
}

std::optional<Time> moment_free(std::span<const Hold> holds, std::int64_t missing) {
  for (const Hold& hold : holds) {
    missing -= hold.amount;
    if (missing <= 0) return hold.deadline;
  }
  return std::nullopt;
}

Time rounded_deadline(Time now, Time lease_for) {
  const Time step = std::max<Time>(lease_for / 8, 1);
  const Time deadline = base::saturating_add(now, lease_for);
  const Time rest = deadline % step;
  return std::min(rest == 0 ? deadline : base::saturating_add(deadline, step - rest), most_deadline);
}

Time place(std::span<const Hold> holds, Time deadline) {
  if (holds.size() < maxima::holds) return deadline;
  const auto next = std::find_if(holds.begin(), holds.end(),
                                 [deadline](const Hold& hold) { return hold.deadline >= deadline; });
  return next == holds.end() ? deadline : next->deadline;
}

Time common_deadline(std::span<const Holds* const> lists, Time deadline) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Holds* const holds : lists) {
      const Time next = place(*holds, deadline);
      moved = moved || next != deadline;
      deadline = next;
    }
  }
  return deadline;
}

void take(Holds& holds, Time deadline, std::int64_t amount) {
  const Time until = place(holds, deadline);
  auto at = at_or_after(holds, until);
  if (at != holds.end() && at->deadline == until) {
    at->amount += amount;
    return;
  }
  if (holds.size() >= maxima::holds) {
    join_closest(holds);
    at = at_or_after(holds, until);
  }
  holds.insert(at, {until, amount});
}

void release(Holds& holds, Time deadline, std::int64_t amount, Time now) {
  if (deadline <= now) return;
  for (auto at = at_or_after(holds, deadline); at != holds.end() && amount > 0; ++at) {
    const std::int64_t part = std::min(at->amount, amount);
    at->amount -= part;
    amount -= part;
  }
  std::erase_if(holds, [](const Hold& hold) { return hold.amount == 0; });
}

std::string encode(std::span<const Hold> holds) {
  std::string text;
  Time last = 0;
  for (const Hold& hold : holds) {
    append_number(text, static_cast<std::uint64_t>(hold.deadline - last));
    append_number(text, static_cast<std::uint64_t>(hold.amount));
    last = hold.deadline;
  }
  return text;
}

bool can_be_used(std::span<const Hold> holds) {
  Time last = 0;
  for (const Hold& hold : holds) {
    if (hold.deadline <= last || hold.deadline > most_deadline) return false;
    if (hold.amount <= 0 || hold.amount > most_held) return false;
    last = hold.deadline;
  }
  return holds.size() <= maxima::holds;
}

std::optional<Holds> decode_holds(std::string_view text) {
  Holds holds;
  Time last = 0;
  while (!text.empty()) {
    const auto difference = take_number(text);
    const auto amount = take_number(text);
    if (!difference || !amount || *difference > most_deadline - last || holds.size() == maxima::holds)
      return std::nullopt;
    last += *difference;
    holds.push_back({last, *amount});
  }
  return can_be_used(holds) ? std::optional(std::move(holds)) : std::nullopt;
}

}  // namespace weir::bucket
