// Finds keys by a pattern, on one server or on every node of a cluster.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "store/redis/context.h"

namespace weir::redis {

/// The text as a part of a pattern, which stands for itself only.
std::string literal(std::string_view text);

/// Visits the keys that match the pattern, in no order; one may come twice. Blocks. Keys that exist for the
/// whole time are visited; in a cluster those of slots that move meanwhile may be missed.
Result<void> scan_keys(Context& context, const std::string& pattern,
                       const std::function<void(std::string_view key)>& visit);

}  // namespace weir::redis
