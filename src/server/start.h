// The parts of start and shutdown that `weir serve` and `weir gateway` share.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "net/server.h"
#include "server/notify.h"
#include "telemetry/access_log.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "weir/result.h"

namespace weir::server {

/// "redis"; not the rest of the URL, which may hold a password.
std::string kind_of(const std::string& store);

/// Null without a path.
Result<std::unique_ptr<telemetry::AccessLog>> open_access_log(const std::string& path,
                                                              telemetry::LogFormat format);

/// Whether only this machine reaches the address.
bool is_loopback(const net::Address& address);

/// "http://127.0.0.1:8080": the first address of the server.
std::string url_of(const net::Server& server, bool tls);

/// The metrics of the server and the access log; both must outlive the metrics. `access` may be null.
void add_metrics(telemetry::Metrics& metrics, net::Server& server, telemetry::AccessLog* access);

/// Notifies the manager before and after `reload`.
template <class Reload>
void tell_of_reload(const Notifier& manager, const std::string& status, Reload&& reload) {
  // CLOCK_MONOTONIC, by which the manager tells an old reload from a new one.
  manager.reloading(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now().time_since_epoch()));
  reload();
  manager.ready(status);
}

/// Finishes the accepted requests, for at most this long.
void drain(net::Server& server, std::chrono::milliseconds at_most, telemetry::Log& log,
           const Notifier& manager);

}  // namespace weir::server
