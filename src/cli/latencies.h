// How long many calls took: percentiles, and a plot. Pure.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/usage_chart.h"

namespace weir::cli {

/// Counts durations in classes whose width is at most a 32nd of their value, so its memory does not grow with
/// the number of calls. Not safe to use from several threads; each counts for itself, and all are added.
class Latencies {
 public:
  using Duration = std::chrono::microseconds;

  void add(Duration duration);
  void add(const Latencies& other);

  std::uint64_t count() const { return count_; }
  Duration longest() const { return Duration(static_cast<std::int64_t>(longest_)); }
  Duration mean() const;
  /// The duration that this many thousandths of the calls did not exceed, rounded up to the end of its class.
  Duration percentile(unsigned thousandths) const;

  /// Calls that took less than `below`, and not less than the step before.
  struct Step {
    Duration below;
    std::uint64_t count;
  };
  /// By powers of two, from the shortest to the longest.
  std::vector<Step> steps() const;

 private:
  static constexpr std::size_t fine = 32;  ///< classes of a power of two
  static constexpr std::size_t classes = 40 * fine;
  static std::size_t class_of(std::uint64_t value);
  /// The first value after a class.
  static std::uint64_t end_of(std::size_t index);

  std::array<std::uint64_t, classes> counts_{};
  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t longest_ = 0;
};

/// "850 us", "1.25 ms", "12.5 ms", "1.5 s".
std::string latency_text(Latencies::Duration duration);

/// A line with a bar for each step.
std::string plot_of(const Latencies& latencies, Charset charset);

}  // namespace weir::cli
