// The part of the gateway's file that a reload can change.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/gateway_file.h"
#include "gateway/route_table.h"
#include "gateway/upstream.h"
#include "weir/limiter.h"

namespace weir::gateway {

/// A route, prepared for requests.
struct Route {
  RouteSettings settings;
  std::optional<RequestLimits> limits;
  /// The names of the limits, each with the cost of a request; empty if the file has none.
  std::vector<Charge> charges;
  std::vector<std::shared_ptr<Server>> servers;
};

/// Immutable once made, but for the addresses of servers. Shared by all threads.
class Routing {
 public:
  /// Servers that `before` also has are reused, so that their connections are kept. Addresses are not looked
  /// up. Fails if certificates cannot be read.
  static Result<std::shared_ptr<const Routing>> make(const GatewaySettings& settings, const Routing* before);

  RouteTable::Match find(std::string_view host, const PathForms& path) const {
    return table_.find(host, path);
  }
  const std::vector<std::unique_ptr<Route>>& routes() const { return routes_; }
  const Networks& trusted() const { return trusted_; }
  const std::optional<OnUnavailable>& on_unavailable() const { return on_unavailable_; }

  /// Looks up the names of all servers and sets their addresses. A server whose lookup fails keeps its
  /// addresses, and `failed` is called. Blocks.
  void look_up(std::chrono::milliseconds timeout,
               const std::function<void(const UpstreamUrl& url, const std::string& why)>& failed) const;

 private:
  explicit Routing(const GatewaySettings& settings) : table_(settings.routes) {}

  RouteTable table_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::map<std::string, std::shared_ptr<Server>> servers_;  ///< by URL
  std::string ca_;
  Networks trusted_;
  std::optional<OnUnavailable> on_unavailable_;
};

}  // namespace weir::gateway
