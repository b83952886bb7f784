// Compares the plans of a limits file with the stored ones, set by set.
#pragma once

#include <string>
#include <vector>

#include "weir/catalog.h"

namespace weir::config {

/// One set of limits that a plan gets, loses or has changed.
struct SetDifference {
  std::string subject;                 ///< "plan pro", "plan pro on gpt-4"
  const PlanLimits* stored = nullptr;  ///< null: it is added
  const PlanLimits* wanted = nullptr;  ///< null: it is removed
};

/// Either may be null, not both. Equal plans differ in nothing.
std::vector<SetDifference> differences(const LimitsPlan* wanted, const LimitsPlan* stored);

}  // namespace weir::config
