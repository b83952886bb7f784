#include "gateway/routing.h"

#include "net/dial.h"
#include "net/tls.h"

namespace weir::gateway {
namespace {

bool needs_tls(const GatewaySettings& settings) {
  for (const RouteSettings& route : settings.routes) {
    for (const UpstreamUrl& url : route.upstreams) {
      if (url.tls) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::shared_ptr<const Routing>> Routing::make(const GatewaySettings& settings, const Routing* before) {
  std::shared_ptr<Routing> made(new Routing(settings));
  made->trusted_ = settings.trusted_proxies;
  made->on_unavailable_ = settings.on_unavailable;
  made->ca_ = settings.tls.ca;
  net::TlsContext tls;
  if (needs_tls(settings)) {
    auto loaded = net::load_client_tls({.authorities = settings.tls.ca, .http = true});
    if (!loaded) return loaded.error();
    tls = *std::move(loaded);
  }
  for (const RouteSettings& route : settings.routes) {
    auto& added = *made->routes_.emplace_back(std::make_unique<Route>());
    added.settings = route;
    if (!route.limits.empty()) {
      auto limits = RequestLimits::make(std::span<const NamedLimit>(route.limits));
      if (!limits) return limits.error();
      added.limits = *std::move(limits);
    }
    for (const NamedLimit& limit : added.settings.limits) added.charges.push_back({limit.name, route.cost});
    for (const UpstreamUrl& url : route.upstreams) {
      std::shared_ptr<Server>& server = made->servers_[url.text()];
      // Servers with TLS are not reused: the trusted certificates may have changed.
      if (!server && before != nullptr && !url.tls) {
        const auto known = before->servers_.find(url.text());
        if (known != before->servers_.end()) server = known->second;
      }
      if (!server) server = std::make_shared<Server>(url, url.tls ? tls : nullptr);
      added.servers.push_back(server);
    }
  }
  return std::shared_ptr<const Routing>(std::move(made));
}

void Routing::look_up(
    std::chrono::milliseconds timeout,
    const std::function<void(const UpstreamUrl& url, const std::string& why)>& failed) const {
  for (const auto& [text, server] : servers_) {
    const HostPort& at = server->url().at;
    auto found = net::find_addresses(at.host, at.port, timeout);
    if (auto* const failure = std::get_if<net::Failure>(&found)) {
      failed(server->url(), failure->detail);
    } else {
      server->set_addresses(std::get<std::vector<net::Address>>(std::move(found)));
    }
  }
}

}  // namespace weir::gateway
