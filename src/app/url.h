// The parts of a store's URL.
#pragma once

#include <string>
#include <string_view>

#include "store/dynamodb/dynamodb_store.h"
#include "weir/result.h"

namespace weir::app {

enum class StoreKind { memory, sqlite, dynamodb };

struct StoreUrl {
  StoreKind kind = StoreKind::memory;
  std::string path;  ///< of a file
  dynamodb::StoreOptions dynamodb = {};
};

Result<StoreUrl> parse_store_url(std::string_view url);

}  // namespace weir::app
