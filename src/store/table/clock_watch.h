// Detects a clock that was ahead and has been set back, in stores inside the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "store/counter.h"
#include "weir/clock.h"

namespace weir::table {

/// "104 days": the largest whole unit that fits.
std::string rough_duration(Time duration);

/// Safe to use from any thread.
class ClockWatch {
 public:
  /// A stored time lay this far ahead of the clock. Only the first one is reported.
  void saw_ahead(Time by) {
    Time none = 0;
    first_ahead_.compare_exchange_strong(none, by, std::memory_order_relaxed);
  }
  /// The refill time of a bucket was repaired (decision/repair.h).
  void repaired(Time ahead_by) {
    repairs_.fetch_add(1, std::memory_order_relaxed);
    saw_ahead(ahead_by);
  }

  std::vector<store::Counter> counters() const;
  std::vector<std::string> warnings() const;

 private:
  std::atomic<std::uint64_t> repairs_{0};
  std::atomic<Time> first_ahead_{0};
};

}  // namespace weir::table
