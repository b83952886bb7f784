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

/// Computes what an aligned stop holds now.
inline void refill_aligned(Stop& stop, Time now) {
  const Record& record = *stop.record;
  const limits::LimitSet& set = *record.limits;
  stop.aligned = true;
  stop.detour = nullptr;
  stop.at = std::max(now, record.refilled_at);
  for (std::size_t i = 0; i < set.size(); ++i) {
    const bucket::Parameters& limit = set[i];
    stop.held[i] = bucket::claim(limit.rate, limit.burst, record.refilled_at, stop.at).held(record.balances()[i].tokens);
  }
}

/// Whether every named limit holds what is asked of it.
inline bool fits(const Stop& stop) {
  std::uint32_t lacking = 0;
  for (std::size_t i = 0; i < stop.resolution->limits->size(); ++i) {
    lacking |= std::uint32_t{stop.amount[i] > stop.held[i]} << i;
  }
  return (lacking & stop.named) == 0;
}

/// When a record may vanish. Out of debt every limit is full again within its time to fill, which keep_for
/// is never less than.
inline Time expiry_of(const Record& record, Time keep_for, bool in_debt) {
  if (keep_for == limits::never) return limits::never;
  if (!in_debt) return base::saturating_add(record.refilled_at, keep_for);
  bucket::Expiry expiry(record.refilled_at, keep_for);
  for (std::size_t i = 0; i < record.limits->size(); ++i) expiry.hold((*record.limits)[i], record.balances()[i].tokens);
  return expiry.expires_at();
}

inline void charge_aligned(const Stop& stop) {
  Record& record = *stop.record;
  const std::size_t count = record.limits->size();
  std::int64_t least = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Balance& balance = record.balances()[i];
    balance.tokens = stop.held[i] - stop.amount[i];
    balance.consumed += stop.amount[i];
    least = std::min(least, balance.tokens);
  }
  record.refilled_at = stop.at;
  record.expires_at = expiry_of(record, stop.resolution->keep_for, least < 0);
}

/// Adds a line for each limit of the stop. `key`: the entity and, right behind it, the resource. Waits are
/// left at 0.
inline LimitReport::Line* report_lines(LimitReport& report, const Stop& stop, std::string_view key,
                                       std::uint64_t generation, bool charged) {
  const limits::Resolution& resolution = *stop.resolution;
  const limits::LimitSet& set = *resolution.limits;
  const auto bucket = static_cast<std::uint8_t>(report.bucket_count());
  const std::uint16_t names_at = report.add_bucket(key,
                                                   {.generation = generation,
                                                    .entity_at = 0,
                                                    .entity_size = static_cast<std::uint16_t>(stop.entity.size()),
                                                    .source = resolution.source,
                                                    .owner = resolution.owner},
                                                   set.names());
  LimitReport::Line* const lines = report.add_lines(set.size());
  for (std::size_t i = 0; i < set.size(); ++i) {
    LimitReport::Line& line = lines[i];
    line.capacity = set[i].capacity;
    line.burst = set[i].burst;
    line.requested = stop.amount[i];
    line.remaining = charged ? stop.held[i] - stop.amount[i] : stop.held[i];
    line.wait = 0;
    line.name_at = static_cast<std::uint16_t>(names_at + set.name_at(i));
    line.name_size = static_cast<std::uint8_t>(set.name(i).size());
    line.bucket = bucket;
    line.named = (stop.named >> i & 1U) != 0;
    line.exceeded = false;
  }
  return lines;
}

}  // namespace weir::table
