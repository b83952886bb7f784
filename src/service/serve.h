// `weir serve`: the API on a socket, from start to shutdown.
#pragma once

#include <chrono>
#include <iosfwd>
#include <optional>
#include <string>

#include "decision_log/decision_log.h"
#include "telemetry/log.h"
#include "weir/catalog.h"
#include "weir/result.h"

namespace weir::service {

struct ServeOptions {
  std::string store = "sqlite:weir.db";
  std::string listen = "127.0.0.1:8080";  ///< HOST:PORT; IPv6 in brackets; port 0: any that is free
  unsigned threads = 1;
  std::string tokens;    ///< a file; empty: no tokens are required
  std::string tls_cert;  ///< files; both or none
  std::string tls_key;
  bool insecure = false;  ///< listen beyond loopback without tokens
  std::optional<OnUnavailable> on_unavailable;
  telemetry::LogOptions log = {};
  std::string access_log;  ///< a file, or - for stdout; empty: none
  decision_log::DecisionLogOptions decisions = {};
  bool aggregate = false;                   ///< count usage from the stream of a dynamodb: table
  std::chrono::milliseconds drain{10'000};  ///< how long a shutdown waits for calls in progress
};

/// Serves until SIGINT or SIGTERM, then finishes the accepted calls. SIGHUP reloads tokens and certificate,
/// and reopens the access log; a file that cannot be read leaves the old one in use. Prints the address on
/// `out`, everything else on `log`.
Result<void> serve(const ServeOptions& options, std::ostream& out, std::ostream& log);

}  // namespace weir::service
