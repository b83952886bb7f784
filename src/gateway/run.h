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
  // What counts more than what the file says.
  std::optional<std::string> store = {};
  std::optional<std::string> name_space = {};
  telemetry::LogOptions log = {};
  std::chrono::milliseconds drain{10'000};  ///< how long a shutdown waits for requests under way
};

/// Reads the file and says what is wrong with it, beyond its text: certificates that cannot be read.
Result<GatewaySettings> check(const std::string& config);

/// Passes requests on until SIGINT or SIGTERM, then finishes those under way. SIGHUP reads the file again; a
/// bad one leaves everything as it was. Says where it listens on `out`, everything else on `log`.
Result<void> run(const RunOptions& options, std::ostream& out, std::ostream& log);

}  // namespace weir::gateway
