// The fast path: a decision on a bucket whose record has exactly the resolved limits. Every warm acquire
// takes it, so it is inline and allocates nothing. It is the arithmetic of bucket/claims.h and
// decision/next_state.h for the case in which no parameter has changed; tests/vectors and tests/twins compare
// them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "decision/chain.h"
#include "decision/expiry.h"
#include "decision/repair.h"
#include "store/table/record.h"

namespace weir::table {

/// Whether the record has exactly the limits of the resolution.
inline bool has_current_limits(const Record* record, const limits::Resolution& resolution) {
  return record != nullptr && record->limits == resolution.limits && record->version >= resolution.stamp;
}

/// Whether a charge at this moment is counted in the open segment of usage. Otherwise the general path closes
/// the segment.
inline bool counts_in_place(const Record& record, bool counts, Time now) {
  return record.counts_usage() == counts && record.goes_on(now);
}

/// Computes the present balances of a link with `count` limits. Requires a record with current limits.
inline void refill_in_place(decision::Link& link, const Record& record, Time now, std::size_t count) {
  const auto* const entries = record.limits->entries();
  const Time from = record.refilled_at;
  const Time at = std::max(now, from);
  for (std::size_t i = 0; i < count; ++i) {
    const bucket::Parameters& limit = entries[i].parameters;
    link.held[i] = bucket::claim(limit.rate, limit.burst, from, at).held(record.balances()[i].tokens);
  }
  link.at = at;
  link.claimed = nullptr;
}

[[gnu::noinline]] inline Time expiry_in_debt(const Record& record, const limits::Resolution& resolution) {
  decision::Expiry expiry(record.refilled_at, resolution);
  for (std::size_t i = 0; i < record.limit_count; ++i)
    expiry.hold(record.limits->name(i), (*record.limits)[i], record.balances()[i].tokens, false);
  return expiry.expires_at();
}

/// When a record with current limits may expire; see decision/expiry.h.
[[gnu::always_inline]] inline Time expiry_of(const Record& record, const limits::Resolution& resolution,
                                             bool in_debt) {
  if (resolution.keep_for == limits::never) return limits::never;
  if (in_debt) [[unlikely]]
    return expiry_in_debt(record, resolution);
  return resolution.expiry_of(base::saturating_add(record.refilled_at, resolution.keep_for));
}

[[gnu::always_inline]] inline void charge_in_place(const decision::Link& link, Record& record,
                                                   std::size_t count) {
  std::int64_t signs = 0;
  std::int64_t amounts = 0;
  for (std::size_t i = 0; i < count; ++i) {
    Balance& balance = record.balances()[i];
    balance.tokens = link.held[i] - link.amount[i];
    balance.consumed = base::wrapping_add(balance.consumed, link.amount[i]);
    signs |= balance.tokens;
    amounts |= link.amount[i];
  }
  record.events += amounts != 0 ? 1 : 0;
  record.refilled_at = link.at;
  record.expires_at = expiry_of(record, *link.resolution, signs < 0);
}

}  // namespace weir::table
