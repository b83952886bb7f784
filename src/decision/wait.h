// How long a refused request has to wait.
#pragma once

#include <optional>

#include "decision/chain.h"
#include "weir/report.h"

namespace weir::decision {

struct Wait {
  /// From now until the whole request would be admitted if no other request takes tokens; nothing where that
  /// cannot be promised.
  std::optional<Time> time;
  bool never_fits = false;  ///< the request asks for more than its limits ever hold at once
};

/// How long until one limit would admit its amount: 0 if it does already, LimitReport::never_fits if it
/// cannot.
Time wait_of(const Link& link, std::size_t limit, Time now);
/// The time until all limits hold their amounts. Nothing where a bucket that is asked for more than its
/// capacity may have expired by then: its successor would start at capacity and refuse. `expires_at` of each
/// link must be its expiry after the refusal.
Wait wait_of(std::span<const Link> links, Time now);
inline Wait wait_of(const Chain& chain, Time now) { return wait_of({chain.begin(), chain.size()}, now); }

}  // namespace weir::decision
