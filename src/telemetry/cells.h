// Counts on the hot path: each thread adds to cells of its own, and a scrape adds them up.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::telemetry {

/// A count that one thread adds to and any thread reads. `shared`: several threads add to it.
class Cell {
 public:
  void add(std::uint64_t amount, bool shared) {
    if (shared) [[unlikely]] {
      value_.fetch_add(amount, std::memory_order_relaxed);
    } else {
      // No other thread writes, so no update can be lost between load and store.
      value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// The upper bounds of the buckets of every histogram, in nanoseconds: from a decision in memory to a store
/// that hangs.
inline constexpr std::array<std::uint64_t, 18> duration_bounds = {
    1'000,      5'000,      10'000,      25'000,      50'000,      100'000,
    250'000,    500'000,    1'000'000,   2'500'000,   5'000'000,   10'000'000,
    25'000'000, 50'000'000, 100'000'000, 250'000'000, 500'000'000, 1'000'000'000};

/// A histogram of durations.
class Durations {
 public:
  static constexpr std::size_t buckets = duration_bounds.size() + 1;

  void add(std::chrono::nanoseconds took, bool shared) {
    // A negative duration counts as 0.
    const auto nanoseconds = static_cast<std::uint64_t>(took.count() > 0 ? took.count() : 0);
    std::size_t at = 0;
    while (at < duration_bounds.size() && nanoseconds > duration_bounds[at]) ++at;
    counts_[at].add(1, shared);
    sum_.add(nanoseconds, shared);
  }
  /// Not cumulative: the number above the previous bound and not above this one.
  std::uint64_t count(std::size_t bucket) const { return counts_[bucket].get(); }
  std::uint64_t nanoseconds() const { return sum_.get(); }

 private:
  std::array<Cell, buckets> counts_;
  Cell sum_;
};

}  // namespace weir::telemetry
