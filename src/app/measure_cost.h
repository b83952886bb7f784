// What decisions cost in a store that is paid by request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::app {

/// One kind of decision. Units are those that DynamoDB says it consumed, on average.
struct CostLine {
  std::string what;
  double requests = 0;
  double read_units = 0;
  double write_units = 0;
  std::string designed;  ///< what the design that weir started from takes for it; empty: nothing is said
  /// In US dollars, for a million of them, on demand.
  double per_million() const;
};

/// Decides some hundred times in a namespace of its own, `weir-bench`, and cleans up. Only for dynamodb:
/// URLs.
Result<std::vector<CostLine>> measure_cost(std::string_view url);

}  // namespace weir::app
