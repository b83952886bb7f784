// What `dynamodb://TABLE[?region=...&endpoint=...]` says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/dynamodb/dynamodb_store.h"
#include "weir/result.h"

namespace weir::app {

inline constexpr std::string_view dynamodb_scheme = "dynamodb://";

/// A parameter of a store's URL, of any kind of store: `least` to an hour.
Result<std::chrono::milliseconds> read_milliseconds(std::string_view name, std::string_view text,
                                                    std::int64_t least);

/// Reads the parameters of a store's URL of any kind, one by one and without their escapes, up to a mistake.
Result<void> read_parameters(
    std::string_view query,
    const std::function<Result<void>(std::string_view name, const std::string& value)>& read);

/// Of what follows the scheme.
Result<dynamodb::StoreOptions> parse_dynamodb_url(std::string_view rest);

}  // namespace weir::app
