// Moments as text (RFC 3339).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "weir/clock.h"

namespace weir::base {

/// A date and time with its offset, such as "2026-11-17T05:00:00Z" or "2026-11-17T06:00:00.5+01:00"; or a
/// date, "2026-11-17", which is its midnight in UTC. Nothing if it is anything else.
std::optional<Time> parse_rfc3339(std::string_view text);
/// "2026-11-17T05:00:00Z", with milliseconds where there are any. Of the years 0 to 9999.
std::string rfc3339_text(Time at);

}  // namespace weir::base
