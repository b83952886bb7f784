// The short way: a decision on a bucket whose record stands under exactly the resolved limits. This is
// what a warm acquire runs through, so it is inline and allocates nothing.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "store/table/stops.h"
#include "weir/report.h"

namespace weir::table {

/// Whether the balances of the record stand under exactly the limits of the resolution.
inline bool is_aligned(const Record* record, const limits::Resolution& resolution) {
  return record != nullptr && record->limits == resolution.limits && record->version >= resolution.stamp;
}

/// The charges that the stop has limits for.
struct Matched {
  std::uint64_t charges = 0;  ///< bit i: the i-th
  bool twice = false;         ///< one limit is named twice
};

/// The mask in which all charges are matched.
inline std::uint64_t all_of(std::span<const Charge> charges) {
  return charges.size() == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << charges.size()) - 1;
}

/// Sets which limits are named, and their amounts.
inline Matched match(Stop& stop, std::span<const Charge> charges) {
  const limits::LimitSet& set = *stop.resolution->limits;
  Matched matched;
  stop.named = 0;
  for (std::size_t i = 0; i < set.size(); ++i) stop.amount[i] = 0;
  for (std::size_t i = 0; i < charges.size(); ++i) {
    const int index = set.find(charges[i].limit);
    if (index < 0) continue;
    const std::uint32_t bit = 1U << static_cast<unsigned>(index);
    matched.twice = matched.twice || (stop.named & bit) != 0;
    matched.charges |= std::uint64_t{1} << i;
    stop.named |= bit;
    stop.amount[static_cast<std::size_t>(index)] = charges[i].amount.millitokens();
  }
  return matched;
}

/// The same for the request that names every limit in the order of the set; false if this is not one.
inline bool match_in_order(Stop& stop, std::span<const Charge> charges, std::size_t count) {
  if (charges.size() != count) return false;
  const limits::LimitSet& set = *stop.resolution->limits;
  const auto* const entries = set.entries();
  for (std::size_t i = 0; i < count; ++i) {
    if (!set.is(entries[i], charges[i].limit)) return false;
    stop.amount[i] = charges[i].amount.millitokens();
  }
  stop.named = (1U << count) - 1;
  return true;
}

/// Computes what an aligned stop with `count` limits holds now.
inline void refill_aligned(Stop& stop, Time now, std::size_t count) {
  const Record& record = *stop.record;
  const auto* const entries = record.limits->entries();
  const Time from = record.refilled_at;
  const Time at = std::max(now, from);
  for (std::size_t i = 0; i < count; ++i) {
    const bucket::Parameters& limit = entries[i].parameters;
    stop.held[i] = bucket::claim(limit.rate, limit.burst, from, at).held(record.balances()[i].tokens);
  }
  stop.at = at;
  stop.aligned = true;
  stop.detour = nullptr;
}

/// Whether every named limit holds what is asked of it.
inline bool fits(const Stop& stop, std::size_t count) {
  std::uint32_t lacking = 0;
  for (std::size_t i = 0; i < count; ++i) lacking |= std::uint32_t{stop.amount[i] > stop.held[i]} << i;
  return (lacking & stop.named) == 0;
}

/// When a record may vanish. Out of debt every limit is full again within its time to fill, which keep_for
/// is never less than.
inline Time expiry_of(const Record& record, Time keep_for, bool in_debt) {
  if (keep_for == limits::never) return limits::never;
  if (!in_debt) [[likely]]
    return base::saturating_add(record.refilled_at, keep_for);
  bucket::Expiry expiry(record.refilled_at, keep_for);
  for (std::size_t i = 0; i < record.limit_count; ++i)
    expiry.hold((*record.limits)[i], record.balances()[i].tokens);
  return expiry.expires_at();
}

inline void charge_aligned(const Stop& stop, std::size_t count) {
  Record& record = *stop.record;
  std::int64_t signs = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Balance& balance = record.balances()[i];
    balance.tokens = stop.held[i] - stop.amount[i];
    balance.consumed = base::wrapping_add(balance.consumed, stop.amount[i]);
    signs |= balance.tokens;
  }
  record.refilled_at = stop.at;
  record.expires_at = expiry_of(record, stop.resolution->keep_for, signs < 0);
}

/// Adds a line for each limit of the stop. `key`: the entity and, right behind it, the resource. Waits are
/// left at 0.
inline LimitReport::Line* report_lines(LimitReport& report, const Stop& stop, std::string_view key,
                                       std::uint64_t generation, bool charged, std::size_t count) {
  const limits::Resolution& resolution = *stop.resolution;
  const limits::LimitSet& set = *resolution.limits;
  const auto* const entries = set.entries();
  LimitReport::Line* const lines =
      report.add_bucket(key,
                        {.generation = generation,
                         .named = stop.named,
                         .entity_size = static_cast<std::uint16_t>(stop.entity.size()),
                         .source = resolution.source,
                         .owner = resolution.owner},
                        set.names(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const bucket::Parameters& limit = entries[i].parameters;
    lines[i] = {.capacity = limit.capacity,
                .burst = limit.burst,
                .requested = stop.amount[i],
                .remaining = charged ? stop.held[i] - stop.amount[i] : stop.held[i],
                .wait = 0,
                .name = entries[i].name,
                .window = entries[i].window};
  }
  return lines;
}

}  // namespace weir::table
