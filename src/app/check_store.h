// Whether a store is sound and keeps its promises.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::app {

enum class Severity { ok, warning, failure };

/// One thing that was looked at: what it is and, where something is to do, what.
struct Finding {
  Severity severity;
  std::string what;
  std::string detail;
};

/// Looks at a store without changing it. A store that cannot be looked at at all is an error.
Result<std::vector<Finding>> check_store(std::string_view url, const Options& options);

}  // namespace weir::app
