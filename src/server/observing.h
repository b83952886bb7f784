// Turns the events of a server into metrics and log entries.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/metrics.h"
#include "weir/decision.h"

namespace weir::server {

/// The path for the log: without its query, and with only the beginning of a lease id, since the full id is
/// the right to change the lease.
std::string loggable_path(std::string_view path);

telemetry::Outcome outcome_of(const Decision& decision);

}  // namespace weir::server
