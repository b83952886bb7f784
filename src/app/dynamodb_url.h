// Parses `dynamodb://TABLE[?region=...&endpoint=...]`.
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

/// Reads a duration in the URL of any store: from `least` to an hour.
Result<std::chrono::milliseconds> read_milliseconds(std::string_view name, std::string_view text,
                                                    std::int64_t least);

/// Reads the parameters in the URL of any store, one by one and unescaped, up to the first error.
Result<void> read_parameters(
    std::string_view query,
    const std::function<Result<void>(std::string_view name, const std::string& value)>& read);

/// `rest` is the part after the scheme.
Result<dynamodb::StoreOptions> parse_dynamodb_url(std::string_view rest);

}  // namespace weir::app
