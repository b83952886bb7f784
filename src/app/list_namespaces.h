// The namespaces of a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::app {

/// The namespaces that have limits, entities or buckets, by name, if the store can tell cheaply: a file can.
/// Empty for other stores.
Result<std::vector<std::string>> list_namespaces(std::string_view url);

}  // namespace weir::app
