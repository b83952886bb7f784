// The metrics of each route, besides those of decisions.
#pragma once

#include <prometheus/collectable.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/lock.h"
#include "llm/usage.h"
#include "telemetry/cells.h"

namespace weir::gateway {

/// Why an upstream gave no usable answer.
enum class Trouble : std::uint8_t { unreachable, timeout, lost, malformed };
inline constexpr std::array<const char*, 4> trouble_names = {"unreachable", "timeout", "lost", "malformed"};

/// Kinds of tokens, as labels.
inline constexpr std::array<const char*, 5> token_names = {"input", "cached_input", "cache_write", "output",
                                                           "reasoning"};
/// Of used to estimated tokens, in percent.
inline constexpr std::array<std::int64_t, 7> estimate_bounds = {25, 50, 80, 100, 125, 200, 400};

/// Calls to language models.
struct LlmCounts {
  std::array<telemetry::Cell, token_names.size()> tokens;
  telemetry::Cell calls;   ///< that were charged
  telemetry::Cell unread;  ///< those without a usage: the estimate stays charged
  std::array<telemetry::Cell, estimate_bounds.size() + 1> ratio;  ///< used to estimated, by bound
  telemetry::Cell percent;                                        ///< the sum of the ratios

  void settled(const std::optional<llm::Usage>& usage, std::int64_t estimated);
};

/// The counts of one route on one thread, which is their only writer.
struct alignas(64) RouteCounts {
  std::array<telemetry::Cell, 5> answers;  ///< by class of status
  std::array<telemetry::Cell, trouble_names.size()> troubles;
  telemetry::Cell retries;
  telemetry::Cell shared;  ///< requests of new clients that shared the bucket of their address
  LlmCounts llm;
  telemetry::Durations upstream;  ///< from the choice of an upstream to the head of its answer

  void settled(const std::optional<llm::Usage>& usage, std::int64_t estimated) {
    llm.settled(usage, estimated);
  }
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
