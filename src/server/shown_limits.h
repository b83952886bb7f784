// The limits of a report as header fields show them: one for each name, the tightest in the chain.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "weir/report.h"

namespace weir::server {

inline std::int64_t whole(Amount amount) { return std::max<std::int64_t>(amount.millitokens(), 0) / 1000; }

inline std::int64_t seconds(std::chrono::milliseconds wait) {
  return wait.count() / 1000 + (wait.count() % 1000 != 0 ? 1 : 0);
}

/// The wait of this limit; its whole window, if it has one, if the request never fits.
inline std::int64_t wait_of(const LimitStatus& status) {
  if (!status.exceeded) return 0;
  return status.retry_after ? seconds(*status.retry_after) : status.window.count();
}

inline bool tighter(const LimitStatus& a, const LimitStatus& b) {
  if (wait_of(a) != wait_of(b)) return wait_of(a) > wait_of(b);
  return a.remaining < b.remaining;
}

/// Limits in other modes do not concern the client.
inline bool is_shown(const LimitStatus& status) { return status.mode == Mode::enforce; }

/// The tightest limit of this name from `first` on; nothing if an earlier one has the name.
inline std::optional<LimitStatus> tightest(const LimitReport& report, std::size_t first) {
  LimitStatus limit = report[first];
  if (!is_shown(limit)) return std::nullopt;
  for (std::size_t i = 0; i < report.size(); ++i) {
    const LimitStatus other = report[i];
    if (other.name != limit.name || !is_shown(other)) continue;
    if (i < first) return std::nullopt;
    if (tighter(other, limit)) limit = other;
  }
  return limit;
}

template <class Visit>
void for_each_name(const LimitReport& report, Visit&& visit) {
  // Within one bucket each name is unique.
  const bool alone = report.bucket_count() == 1;
  for (std::size_t i = 0; i < report.size(); ++i) {
    if (alone) {
      if (const LimitStatus limit = report[i]; is_shown(limit)) visit(limit);
    } else if (const auto limit = tightest(report, i)) {
      visit(*limit);
    }
  }
}

}  // namespace weir::server
