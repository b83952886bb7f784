// weir usage --follow.
#pragma once

#include <chrono>

#include "cli/session.h"
#include "weir/usage.h"

namespace weir::cli {

/// The line of titles of usage as CSV, and the lines of one window: one for each limit. The first has the
/// events, so that columns can be summed.
void print_csv_titles(std::ostream& out);
void print_csv(std::ostream& out, const Usage& usage);

/// Prints the windows of the filter, and then those that have changed, until the user ends it.
Result<ExitCode> follow_usage(Session& session, UsageFilter filter, std::chrono::milliseconds interval);

}  // namespace weir::cli
