// What `dynamodb://TABLE[?region=...&endpoint=...]` says.
#pragma once

#include <string_view>

#include "store/dynamodb/dynamodb_store.h"
#include "weir/result.h"

namespace weir::app {

inline constexpr std::string_view dynamodb_scheme = "dynamodb://";

/// Of what follows the scheme.
Result<dynamodb::StoreOptions> parse_dynamodb_url(std::string_view rest);

}  // namespace weir::app
