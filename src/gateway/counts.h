// The metrics of each route, besides those of decisions.
#pragma once

#include <prometheus/collectable.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/lock.h"
#include "telemetry/cells.h"

namespace weir::gateway {

/// Why an upstream gave no usable answer.
enum class Trouble : std::uint8_t { unreachable, timeout, lost, malformed };
inline constexpr std::array<const char*, 4> trouble_names = {"unreachable", "timeout", "lost", "malformed"};

/// The counts of one route on one thread, which is their only writer.
struct alignas(64) RouteCounts {
  std::array<telemetry::Cell, 5> answers;  ///< by class of status
  std::array<telemetry::Cell, trouble_names.size()> troubles;
  telemetry::Cell retries;
  telemetry::Cell shared;         ///< requests of new clients that shared the bucket of their address
  telemetry::Durations upstream;  ///< from the choice of an upstream to the head of its answer

  void answered(int status) {
    const int status_class = status / 100 - 1;
    answers[static_cast<std::size_t>(status_class < 0 || status_class > 4 ? 4 : status_class)].add(1, false);
  }
};

/// The counts of all routes and threads, for scrapes. Safe to use from any thread.
class Counts final : public prometheus::Collectable {
 public:
  /// The counts of a route on the caller's thread; valid as long as this. A route keeps its counts over a
  /// reload.
  RouteCounts& of(std::size_t thread, const std::string& route);
  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  mutable base::Mutex mutex_;
  std::map<std::string, std::map<std::size_t, std::unique_ptr<RouteCounts>>> routes_ WEIR_GUARDED_BY(mutex_);
};

}  // namespace weir::gateway
