// Sums of usage.
#pragma once

#include <span>
#include <vector>

#include "weir/usage.h"

namespace weir::usage {

/// Adds amounts, which are sorted by name; sums of 0 are dropped.
void add(std::vector<UsedAmount>& sum, std::span<const UsedAmount> amounts);
/// Adds the amounts and events of a row of the same entity and resource.
void add(Usage& sum, const Usage& row);

}  // namespace weir::usage
