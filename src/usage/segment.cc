#include "usage/segment.h"

#include <algorithm>

#include "base/wide.h"

namespace weir::usage {
namespace {

std::int64_t& amount_of(std::vector<Used>& amounts, std::string_view limit) {
  const auto found =
      std::find_if(amounts.begin(), amounts.end(), [&](const Used& used) { return used.limit == limit; });
  return found != amounts.end() ? found->amount : amounts.emplace_back(Used{std::string(limit), 0}).amount;
}

/// Adds what a write changed. A counter that `old` does not have was 0.
void add_changes(Segment& segment, const bucket::State* old, const bucket::State& next) {
  bool changed = false;
  for (const bucket::LimitState& limit : next.limits) {
    const bucket::LimitState* const earlier = old != nullptr ? old->find(limit.name) : nullptr;
    const std::int64_t from = earlier != nullptr ? earlier->consumed : 0;
    if (limit.consumed == from) continue;
    changed = true;
    std::int64_t& amount = amount_of(segment.amounts, limit.name);
    amount = base::wrapping_add(amount, base::wrapping_sub(limit.consumed, from));
  }
  if (changed) ++segment.events;
  std::erase_if(segment.amounts, [](const Used& used) { return used.amount == 0; });
}

bool keeps_all(const Segment& segment, const bucket::State& next) {
  return std::all_of(segment.amounts.begin(), segment.amounts.end(),
                     [&](const Used& used) { return next.find(used.limit) != nullptr; });
}

}  // namespace

Step count(const std::optional<Segment>& before, const bucket::State* old, const bucket::State& next,
           Time now, bool counts, std::uint64_t new_id) {
  const bool same_bucket = old != nullptr && old->generation == next.generation;
  Step step;
  const bool goes_on =
      before && counts && same_bucket && before->hour == hour_of(now) && keeps_all(*before, next);
  if (before && !goes_on && before->events > 0) step.closed = before;
  if (!counts) return step;
  if (goes_on) {
    step.open = before;
  } else {
    step.open = Segment{.hour = hour_of(now), .id = new_id};
  }
  add_changes(*step.open, same_bucket ? old : nullptr, next);
  return step;
}

}  // namespace weir::usage
