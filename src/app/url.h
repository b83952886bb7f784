// The parts of a store's URL.
#pragma once

#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::app {

enum class StoreKind { memory, sqlite };

struct StoreUrl {
  StoreKind kind = StoreKind::memory;
  std::string path;  ///< of a file
};

Result<StoreUrl> parse_store_url(std::string_view url);

}  // namespace weir::app
