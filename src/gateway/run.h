// `weir gateway`: from start to shutdown.
#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "gateway/gateway_file.h"
#include "telemetry/log.h"
#include "weir/result.h"

namespace weir::gateway {

struct RunOptions {
  std::string config;  ///< the file
  // These override the file.
  std::optional<std::string> store = {};
  std::optional<std::string> name_space = {};
  telemetry::LogOptions log = {};
  std::chrono::milliseconds drain{10'000};  ///< how long a shutdown waits for requests in progress
};

/// Checks the file, and beyond its text that the certificates can be read.
Result<GatewaySettings> check(const std::string& config);

/// Forwards requests until SIGINT or SIGTERM, then finishes those in progress. SIGHUP reloads the file; an
/// invalid one changes nothing. Prints the address on `out`, everything else on `log`.
Result<void> run(const RunOptions& options, std::ostream& out, std::ostream& log);

}  // namespace weir::gateway
