// A process that counts usage from the changes of a store, for stores that do not count it themselves.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/counter.h"
#include "weir/clock.h"

namespace weir::store {

/// How far it is.
struct AggregationState {
  std::uint64_t records = 0;    ///< of buckets, read
  std::uint64_t events = 0;     ///< writes of buckets that were counted
  std::uint64_t deltas = 0;     ///< changes of one limit that were counted
  std::uint64_t writes = 0;     ///< of usage
  std::uint64_t trimmed = 0;    ///< places at which records were gone before they were read
  std::uint64_t made_good = 0;  ///< records whose images also contained the change of a dropped record
  std::uint64_t malformed = 0;  ///< records that cannot be used
  Time lag = 0;                 ///< how long ago the oldest record was made that is not counted yet; 0: none
  std::size_t shards = 0;       ///< that this process reads
  bool waits = false;           ///< the store could not be reached since the start
  std::string trouble = {};     ///< why the last operation failed; empty: it did not
};

/// Counts on a thread of its own until it is destroyed. Safe to use from any thread.
class Aggregation {
 public:
  virtual ~Aggregation() = default;
  /// Counts what was read, and lets other processes go on from there. Blocks, at most `patience`.
  virtual void stop(std::chrono::milliseconds patience) = 0;
  virtual AggregationState state() const = 0;
};

/// The counters of an aggregation, for metrics.
std::vector<Counter> counters_of(const AggregationState& state);

/// Behind: records wait for longer than this.
inline constexpr Time most_lag = 60'000;

}  // namespace weir::store
