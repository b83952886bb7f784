// Lengths of time as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::base {

/// Milliseconds of "30s", "5min", "12h" or "90d"; at least 1 ms, at most 100 years.
std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace weir::base
