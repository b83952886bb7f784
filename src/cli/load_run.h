// Calls a target from several threads, as fast as they can or at a rate, and counts the answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/latencies.h"
#include "client/target.h"

namespace weir::cli {

struct LoadOptions {
  unsigned concurrency = 8;
  /// Calls in a second, of all threads together; nothing: as many as they can make.
  std::optional<unsigned> rate = {};
  std::chrono::milliseconds duration{10'000};
  /// After so many calls it ends, however long that takes; nothing: after the duration.
  std::optional<std::uint64_t> requests = {};
};

struct LoadReport {
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t degraded = 0;  ///< admitted without the store
  std::uint64_t failed = 0;
  /// Why, and how often; at most some different ones.
  std::map<std::string, std::uint64_t> failures = {};
  /// Of calls that were answered. With a rate from the moment at which a call was due, so that a service that
  /// falls behind shows.
  Latencies latencies = {};
  std::chrono::microseconds elapsed{0};

  std::uint64_t answered() const { return admitted + refused + degraded; }
  void add(const LoadReport& other);
};

/// `make` makes a target for each thread, on the thread that calls this. `go_on` is asked several times a
/// second, with the share that is done in percent; false ends the run early.
LoadReport run_load(const LoadOptions& options, const client::Request& request,
                    const std::function<std::unique_ptr<client::Target>()>& make,
                    const std::function<bool(unsigned percent)>& go_on);

}  // namespace weir::cli
