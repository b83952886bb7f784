// Counts the usage of a store that does not count it itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "store/aggregation.h"
#include "weir/result.h"

namespace weir::app {

struct AggregateOptions {
  std::chrono::milliseconds batch{1000};  ///< how long a charge waits for others on its bucket
  bool must_be_reachable = true;          ///< false: waits for a table that cannot be reached
  /// Called with messages for the operator, from any thread.
  std::function<void(const std::string& message)> report = {};
};

/// Starts to count from the stream of a dynamodb: table. Fails for other stores, which count by themselves,
/// and where the table has no stream or cannot be reached.
Result<std::unique_ptr<store::Aggregation>> aggregate(std::string_view url, const AggregateOptions& options);

}  // namespace weir::app
