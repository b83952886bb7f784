#include "server/start.h"

#include "base/text.h"

namespace weir::server {

std::string kind_of(const std::string& store) { return store.substr(0, store.find(':')); }

Result<std::unique_ptr<telemetry::AccessLog>> open_access_log(const std::string& path,
                                                              telemetry::LogFormat format) {
  if (path.empty()) return std::unique_ptr<telemetry::AccessLog>();
  return telemetry::AccessLog::open(path, {.format = format});
}

bool is_loopback(const net::Address& address) {
  if (!address.v6) return address.bytes[0] == 127;
  net::Address loopback = address;
  loopback.bytes = {};
  loopback.bytes[15] = 1;
  return address.bytes == loopback.bytes;
}

std::string url_of(const net::Server& server, bool tls) {
  return base::join(tls ? "https://" : "http://", server.addresses().front().to_string());
}

void add_metrics(telemetry::Metrics& metrics, net::Server& server, telemetry::AccessLog* access) {
  metrics.add_gauge("weir_http_connections", "Connections that are open.",
                    [&server] { return static_cast<double>(server.status().open_connections); });
  metrics.add_counter("weir_http_connections_accepted_total", "Connections that were accepted.",
                      [&server] { return static_cast<double>(server.status().accepted); });
  metrics.add_counter("weir_http_connections_refused_total",
                      "Connections that were refused because too many were open.",
                      [&server] { return static_cast<double>(server.status().refused); });
  if (access == nullptr) return;
  metrics.add_counter("weir_access_log_lost_total", "Lines of the access log that could not be written.",
                      [access] { return static_cast<double>(access->lost()); });
}

void drain(net::Server& server, std::chrono::milliseconds at_most, telemetry::Log& log,
           const Notifier& manager) {
  log.info("finishing what was accepted");
  manager.stopping("finishing what was accepted");
  server.drain(at_most);
  server.wait();
}

}  // namespace weir::server
