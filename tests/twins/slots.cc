#include "twins/slots.h"

#include <algorithm>
#include <limits>

namespace weir::twins {
namespace {

Time place(const Slots& slots, Time end) {
  if (slots.size() < most_slots) return end;
  const auto next = slots.lower_bound(end);
  return next == slots.end() ? end : next->first;
}

void join_two(Slots& slots) {
  Time least = std::numeric_limits<Time>::max();
  auto first = slots.begin();
  for (auto at = slots.begin(); std::next(at) != slots.end(); ++at) {
    const Time apart = std::next(at)->first - at->first;
    if (apart >= least) continue;
    least = apart;
    first = at;
  }
  std::next(first)->second += first->second;
  slots.erase(first);
}

}  // namespace

std::int64_t total(const Slots& slots) {
  std::int64_t sum = 0;
  for (const auto& [end, amount] : slots) sum += amount;
  return sum;
}

Slots live_at(const Slots& slots, Time at) { return {slots.upper_bound(at), slots.end()}; }

Time free_at(const Slots& slots, std::int64_t missing) {
  for (const auto& [end, amount] : slots) {
    missing -= amount;
    if (missing <= 0) return end;
  }
  return 0;
}

Time rounded_end(Time now, Time length) {
  const Time step = std::max<Time>(length / 8, 1);
  return (now + length + step - 1) / step * step;
}

Time common_end(const std::vector<const Slots*>& lists, Time end) {
  for (;;) {
    Time latest = end;
    for (const Slots* const slots : lists) latest = std::max(latest, place(*slots, end));
    if (latest == end) return end;
    end = latest;
  }
}

void take(Slots& slots, Time end, std::int64_t amount) {
  const Time until = place(slots, end);
  if (slots.size() == most_slots && slots.count(until) == 0) join_two(slots);
  slots[until] += amount;
}

void give_back(Slots& slots, Time end, std::int64_t amount) {
  for (auto at = slots.lower_bound(end); at != slots.end() && amount > 0;) {
    const std::int64_t part = std::min(at->second, amount);
    at->second -= part;
    amount -= part;
    at = at->second == 0 ? slots.erase(at) : std::next(at);
  }
}

Granted spend(Granted& grants, std::int64_t amount) {
  Granted pieces;
  while (amount > 0 && !grants.empty()) {
    const auto first = grants.begin();
    const std::int64_t part = std::min(first->second, amount);
    pieces[first->first] = part;
    amount -= part;
    first->second -= part;
    if (first->second == 0) grants.erase(first);
  }
  return pieces;
}

Granted spend_last(Granted& grants, std::int64_t amount) {
  Granted pieces;
  while (amount > 0 && !grants.empty()) {
    const auto last = std::prev(grants.end());
    const std::int64_t part = std::min(last->second, amount);
    pieces[last->first] = part;
    amount -= part;
    last->second -= part;
    if (last->second == 0) grants.erase(last);
  }
  return pieces;
}

void give_back(Granted& grants, const Granted& pieces, Time at) {
  // Those that end last come back first, which matters where the list is full.
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (piece->first <= at) continue;
    if (grants.count(piece->first) != 0 || grants.size() < most_grants) {
      grants[piece->first] += piece->second;
      continue;
    }
    auto after = grants.upper_bound(piece->first);
    if (after != grants.begin()) --after;
    after->second += piece->second;
  }
}

}  // namespace weir::twins
