// From what a server does to what is counted and logged.
#pragma once

#include <string>
#include <string_view>

#include "telemetry/metrics.h"
#include "weir/decision.h"

namespace weir::server {

/// The path as it may stand in a log: without its query, and of a lease id only the beginning, since whoever
/// has one can change the lease.
std::string loggable_path(std::string_view path);

telemetry::Outcome outcome_of(const Decision& decision);

}  // namespace weir::server
