// Checks a store without changing it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/finding.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::app {

using store::Finding;
using store::Severity;

/// Fails only if the URL is wrong; every problem of the store is a finding.
Result<std::vector<Finding>> check_store(std::string_view url, const Options& options);
/// The same for a caller who may see only one namespace. The whole store if the name is empty.
Result<std::vector<Finding>> check_namespace(std::string_view url, const Options& options,
                                             const std::string& name_space);

}  // namespace weir::app
