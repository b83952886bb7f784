// Measures the cost of decisions in a store that is paid per request.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::app {

/// One kind of decision. Units are the average of those that DynamoDB reports as consumed.
struct CostLine {
  std::string what;
  double requests = 0;
  double read_units = 0;
  double write_units = 0;
  std::string designed;  ///< the cost in the design that weir started from; empty: not stated
  /// The on-demand price of a million of them, in US dollars.
  double per_million() const;
};

/// Makes some hundred decisions in a separate namespace, `weir-bench`, and cleans up. Only for dynamodb:
/// URLs.
Result<std::vector<CostLine>> measure_cost(std::string_view url);

}  // namespace weir::app
