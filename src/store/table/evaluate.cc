#include <bit>

#include "base/text.h"
#include "store/table/stops.h"

namespace weir::table {
namespace {

using base::quoted;

/// Whether the balances of the record stand under exactly the limits of the resolution.
bool aligned(const Record* record, const limits::Resolution& resolution) {
  return record != nullptr && record->limits == resolution.limits && record->version >= resolution.stamp;
}

/// Which of the charges this stop has a limit for, as a mask; sets amounts. Nothing if one is named twice.
std::optional<std::uint64_t> match(Stop& stop, std::span<const Charge> charges) {
  const limits::LimitSet& set = *stop.resolution->limits;
  std::uint64_t matched = 0;
  stop.named = 0;
  for (std::size_t i = 0; i < set.size(); ++i) stop.amount[i] = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const int index = set.find(charges[i].limit);
    if (index < 0) continue;
    const std::uint32_t bit = 1U << static_cast<unsigned>(index);
    if ((stop.named & bit) != 0) return std::nullopt;
    stop.named |= bit;
    stop.amount[static_cast<std::size_t>(index)] = charges[i].amount.millitokens();
    matched |= std::uint64_t{1} << i;
  }
  return matched;
}

std::string names_of(const limits::LimitSet& set) {
  std::string names;
  for (std::size_t i = 0; i < set.size(); ++i) names += base::join(i == 0 ? "" : ", ", set.name(i));
  return names;
}

/// Computes what the stop holds now.
void bring_up_to_date(Stops& stops, Stop& stop, Time now) {
  stop.aligned = aligned(stop.record, *stop.resolution);
  if (!stop.aligned) return take_detour(stops, stop, now);
  const Record& record = *stop.record;
  const limits::LimitSet& set = *record.limits;
  stop.detour = nullptr;
  stop.at = std::max(now, record.refilled_at);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bucket::Parameters& limit = set[i];
    stop.held[i] = bucket::claim(limit.rate, limit.burst, record.refilled_at, stop.at).held(record.balances()[i].tokens);
  }
}

}  // namespace

void take_detour(Stops& stops, Stop& stop, Time now) {
  Detour& detour = stops.add_detour(stop);
  if (stop.record != nullptr) detour.state = state_of(*stop.record);
  const bucket::State* const state = detour.state ? &*detour.state : nullptr;
  detour.claims = bucket::claims_of(state, *stop.resolution, now);
  stop.at = detour.claims.at;
  for (const bucket::LimitClaim& limit : detour.claims.limits) {
    if (!limit.in_force) continue;
    stop.held[static_cast<std::size_t>(stop.resolution->limits->find(limit.name))] = limit.held(state);
  }
}

Result<void> evaluate(Stops& stops, std::span<const Charge> charges, Time now) {
  std::uint64_t matched = 0;
  for (Stop& stop : stops) {
    const auto found = match(stop, charges);
    if (!found) return base::invalid("a limit is named twice in one request; name each once");
    matched |= *found;
    bring_up_to_date(stops, stop, now);
  }
  const std::uint64_t all = charges.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << charges.size()) - 1;
  if (matched == all) return {};
  const Charge& unknown = charges[static_cast<std::size_t>(std::countr_one(matched))];
  return base::error(ErrorCode::unknown_limit, "limit ", quoted(unknown.limit), " is not among the limits of ",
                     quoted(stops[0].entity), " or its ancestors; known here: ", names_of(*stops[0].resolution->limits));
}

Time wait_of(const Stop& stop, std::size_t limit, Time now) {
  const bucket::Parameters& parameters = (*stop.resolution->limits)[limit];
  const bool named = (stop.named >> limit & 1U) != 0;
  if (!named || stop.amount[limit] <= stop.held[limit]) return 0;
  if (stop.amount[limit] > parameters.burst) return LimitReport::never_fits;
  return bucket::moment_granted(parameters.rate, stop.at, stop.amount[limit] - stop.held[limit]) - now;
}

Verdict judge(Stops& stops, Time now) {
  Verdict verdict;
  for (const Stop& stop : stops) {
    for (std::size_t i = 0; i < stop.resolution->limits->size(); ++i) {
      const bool short_of_it = stop.amount[i] > stop.held[i] && (stop.named >> i & 1U) != 0;
      if (!short_of_it) continue;
      verdict.admitted = false;
      const Time wait = wait_of(stop, i, now);
      if (wait == LimitReport::never_fits) verdict.never_fits = true;
      verdict.wait = std::max(verdict.wait, wait);
    }
  }
  return verdict;
}

}  // namespace weir::table
