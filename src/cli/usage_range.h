// Which usage to show, from the command line.
#pragma once

#include <string_view>

#include "cli/arguments.h"
#include "weir/clock.h"
#include "weir/result.h"
#include "weir/usage.h"

namespace weir::cli {

/// "now", "today", "yesterday", "24h" (that long ago), "2026-11-17", "2026-11-17T05:00:00Z". Days are of UTC.
Result<Time> read_moment(std::string_view option, std::string_view text, Time now);

/// --entity, --children-of, --resource, --window, --from and --to.
Result<UsageFilter> read_usage_filter(const Arguments& arguments, Time now);

}  // namespace weir::cli
