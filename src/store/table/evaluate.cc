#include <algorithm>
#include <bit>
#include <set>

#include "base/text.h"
#include "store/table/aligned.h"
#include "store/table/stops.h"

namespace weir::table {
namespace {

using base::quoted;

/// The limits of every stop, each once.
std::string names_of(Stops& stops) {
  std::set<std::string_view> names;
  for (const Stop& stop : stops) {
    for (std::size_t i = 0; i < stop.resolution->limits->size(); ++i)
      names.insert(stop.resolution->limits->name(i));
  }
  std::string text;
  for (const std::string_view name : names) text += base::join(text.empty() ? "" : ", ", name);
  return text;
}

Error named_twice(std::span<const Charge> charges) {
  std::set<std::string_view> seen;
  const auto again = std::find_if(charges.begin(), charges.end(),
                                  [&](const Charge& charge) { return !seen.insert(charge.limit).second; });
  return base::invalid("limit ", quoted(again->limit), " is named twice; name it once");
}

}  // namespace

Result<void> check_size(const Stop& stop) {
  if (stop.aligned || stop.detour->claims.limits.size() <= bucket::max_limits_kept) return {};
  const bucket::State* const state = stop.detour->state ? &*stop.detour->state : nullptr;
  const auto kept =
      std::count_if(stop.detour->claims.limits.begin(), stop.detour->claims.limits.end(),
                    [&](const auto& limit) { return !bucket::forgettable(limit, limit.held(state)); });
  if (static_cast<std::size_t>(kept) <= bucket::max_limits_kept) return {};
  return base::error(
      ErrorCode::conflict, "the bucket of ", quoted(stop.entity), " still holds ", std::to_string(kept),
      " limits that were replaced before they refilled; use the same limits for every request");
}

void take_detour(Stops& stops, Stop& stop, Time now) {
  Detour& detour = stops.add_detour(stop);
  if (stop.record != nullptr) detour.state = state_of(*stop.record);
  const bucket::State* const state = detour.state ? &*detour.state : nullptr;
  detour.claims = bucket::claims_of(state, *stop.resolution, now);
  stop.aligned = false;
  stop.at = detour.claims.at;
  for (const bucket::LimitClaim& limit : detour.claims.limits) {
    if (!limit.in_force) continue;
    stop.held[static_cast<std::size_t>(stop.resolution->limits->find(limit.name))] = limit.held(state);
  }
}

Result<void> evaluate(Stops& stops, std::span<const Charge> charges, Time now) {
  std::uint64_t known = 0;
  for (Stop& stop : stops) {
    const std::size_t count = stop.resolution->limits->size();
    const Matched matched = match(stop, charges);
    if (matched.twice) return named_twice(charges);
    known |= matched.charges;
    if (is_aligned(stop.record, *stop.resolution)) {
      refill_aligned(stop, now, count);
    } else {
      take_detour(stops, stop, now);
    }
    if (auto checked = check_size(stop); !checked) return checked;
    stop.fits = fits(stop, count);
  }
  if (known == all_of(charges)) return {};
  const Charge& unknown = charges[static_cast<std::size_t>(std::countr_one(known))];
  return base::error(ErrorCode::unknown_limit, "limit ", quoted(unknown.limit),
                     " is not among the limits of ", quoted(stops[0].entity),
                     " or its ancestors; known here: ", names_of(stops));
}

Time wait_of(const Stop& stop, std::size_t limit, Time now) {
  const bucket::Parameters& parameters = (*stop.resolution->limits)[limit];
  const bool named = (stop.named >> limit & 1U) != 0;
  if (!named || stop.amount[limit] <= stop.held[limit]) return 0;
  if (stop.amount[limit] > parameters.burst) return LimitReport::never_fits;
  const Time moment = bucket::moment_granted(parameters.rate, stop.at, stop.amount[limit] - stop.held[limit]);
  return base::saturate(base::Int128{moment} - now);
}

std::optional<Time> wait_of(const Stop& stop, Time now) {
  Time longest = 0;
  for (std::size_t i = 0; i < stop.resolution->limits->size(); ++i) {
    const Time wait = wait_of(stop, i, now);
    if (wait == LimitReport::never_fits) return std::nullopt;
    longest = std::max(longest, wait);
  }
  return longest;
}

std::optional<Time> wait_of(const Stops& stops, Time now) {
  Time longest = 0;
  for (const Stop& stop : stops) {
    const auto wait = wait_of(stop, now);
    if (!wait) return std::nullopt;
    longest = std::max(longest, *wait);
  }
  return longest;
}

}  // namespace weir::table
