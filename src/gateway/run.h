// `weir gateway`: from start to shutdown.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>

#include "gateway/admin.h"
#include "gateway/gateway_file.h"
#include "limiter/core.h"
#include "server/decisions.h"
#include "telemetry/log.h"
#include "weir/result.h"

namespace weir::gateway {

/// The dependencies of the API on admin_listen.
struct AdminApiOptions {
  limiter::Foundation foundation;
  std::string store;       ///< its URL
  std::string name_space;  ///< of the gateway: of calls that name none
  std::string tokens;      ///< a file; empty: none
  telemetry::Log* log = nullptr;
  server::DecisionLog* decisions = nullptr;  ///< of the gateway; null: none are kept
};

struct RunOptions {
  std::string config;  ///< the file
  /// Makes the API for a store in this process. Empty: there is none.
  std::function<Result<std::unique_ptr<AdminApi>>(const AdminApiOptions& options)> make_api = {};
  // These override the file.
  std::optional<std::string> store = {};
  std::optional<std::string> name_space = {};
  telemetry::LogOptions log = {};
  std::chrono::milliseconds drain{10'000};  ///< how long a shutdown waits for requests in progress
};

/// Checks the file, and beyond its text that the certificates can be read. `store`: overrides that of the
/// file.
Result<GatewaySettings> check(const std::string& config, const std::optional<std::string>& store = {});

/// Refuses an admin_listen that other machines can reach where the API would be served without tokens, as
/// `weir serve` does. With a store elsewhere there are health and metrics only, which need no token.
Result<void> check_admin(const GatewaySettings& settings, const std::string& store);

/// Whether the API may be served on admin_listen: to this machine alone, or to callers with tokens.
bool may_serve_api(const GatewaySettings& settings);

/// Forwards requests until SIGINT or SIGTERM, then finishes those in progress. SIGHUP reloads the file; an
/// invalid one changes nothing. Prints the address on `out`, everything else on `log`.
Result<void> run(const RunOptions& options, std::ostream& out, std::ostream& log);

}  // namespace weir::gateway
