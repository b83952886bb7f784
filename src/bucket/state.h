// A bucket: the stored state of all limits of one entity on one resource.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/maxima.h"
#include "bucket/grants.h"
#include "bucket/holds.h"
#include "limits/limit_set.h"
#include "limits/record.h"
#include "weir/clock.h"

namespace weir::bucket {

using limits::never;

/// The most limits that a bucket's record can hold, those in force and those that left the set before
/// they were full again.
inline constexpr std::size_t max_limits_kept = maxima::limits_kept;

/// One limit of a bucket. A limit that the resolved set does not name is dormant: it refills by the
/// parameters here until it would hold its capacity, and is then dropped.
struct LimitState {
  std::string name;
  limits::Parameters parameters;
  std::int64_t tokens = 0;    ///< balance at refilled_at; may exceed burst: every reader cuts it
  std::int64_t consumed = 0;  ///< charged since the bucket was created
  bool dormant = false;       ///< not in force when the bucket was last written
  /// Of a concurrent limit, whose balance is its capacity less what is held.
  Holds holds = {};
  Grants grants = {};  ///< of a rate limit, beside its balance
  friend bool operator==(const LimitState&, const LimitState&) = default;
};

struct State {
  Time refilled_at = 0;
  std::int64_t version = 0;      ///< of the parameters: the stamp of the resolution they came from
  std::uint64_t generation = 0;  ///< differs between a bucket and its successor after expiry
  Time expires_at = never;       ///< from here on the bucket does not exist
  std::vector<LimitState> limits;

  const LimitState* find(std::string_view name) const {
    for (const LimitState& limit : limits) {
      if (limit.name == name) return &limit;
    }
    return nullptr;
  }
  friend bool operator==(const State&, const State&) = default;
};

/// Far above every balance, time and version that weir writes, and far below an overflow of their sums.
inline constexpr std::int64_t most_stored = std::int64_t{1} << 60;
inline bool is_stored_time(std::int64_t number) { return number >= 0 && number <= most_stored; }
inline bool is_stored_balance(std::int64_t number) { return number >= -most_stored && number <= most_stored; }

/// Whether a state that a store returned is within the range of the arithmetic: names that exist once,
/// parameters of limits, numbers whose sums do not overflow.
bool can_be_used(const State& state);

}  // namespace weir::bucket
