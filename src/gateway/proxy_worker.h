// The state of one thread of the gateway: its connections to upstreams, its copy of the routes, and the
// proxied requests.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/ref.h"
#include "gateway/counts.h"
#include "gateway/new_clients.h"
#include "gateway/routing.h"
#include "gateway/upstream.h"
#include "llm/estimate.h"
#include "server/thread_executor.h"
#include "wire/buffer.h"

namespace weir::gateway {

class Gateway;
class ProxiedRequest;

/// The upstreams and counters of one route, on this thread.
struct Choices {
  std::vector<std::shared_ptr<Pool>> pools;
  std::size_t next = 0;
  RouteCounts* counts = nullptr;
  std::size_t metrics_pair = 0;  ///< of telemetry::Metrics, for decisions about the route's own resource

  /// The next healthy upstream, round robin; if none is healthy, the next one.
  Pool& choose() {
    for (std::size_t i = 0; i < pools.size(); ++i) {
      Pool& pool = *pools[next++ % pools.size()];
      if (pools.size() == 1 || pool.healthy()) return pool;
    }
    return *pools[next++ % pools.size()];
  }
};

/// The routes with this thread's state of each. Requests hold a reference to it.
struct LocalRouting final : base::RefCounted<LocalRouting> {
  std::shared_ptr<const Routing> routing;
  std::vector<Choices> choices;  ///< by the index of the route
};
using LocalRoutingRef = base::Ref<LocalRouting>;

/// All members are for its own thread.
class ProxyWorker final : public server::ThreadExecutor {
 public:
  ProxyWorker(Gateway& gateway, net::Loop& loop, std::size_t number);
  ~ProxyWorker() override;

  /// The worker of this thread; null on other threads.
  static ProxyWorker*& here() {
    thread_local ProxyWorker* worker = nullptr;
    return worker;
  }
  Gateway& gateway() { return gateway_; }
  /// The current routes.
  const LocalRoutingRef& routing();
  RouteCounts& without_route() { return without_route_; }

  ProxiedRequest& take_request();
  void give_back(ProxiedRequest& proxied);

  AdmittedClients& admitted() { return admitted_; }
  llm::Estimates& estimates() {
    if (!estimates_) estimates_ = std::make_unique<llm::Estimates>();
    return *estimates_;
  }
  /// The entity of an address, "ip:" and the address without its port; the last one is cached.
  std::string_view entity_of(const net::Address& address);
  std::string_view text_of(const net::Address& address) { return entity_of(address).substr(3); }
  /// A buffer for fields and trailers while they are written.
  wire::Buffer& scratch() {
    scratch_.clear();
    return scratch_;
  }

 private:
  Gateway& gateway_;
  const std::size_t number_;
  RouteCounts& without_route_;
  std::uint64_t generation_ = 0;
  LocalRoutingRef routing_;
  std::map<std::shared_ptr<const Server>, std::weak_ptr<Pool>> pools_;
  std::vector<std::unique_ptr<ProxiedRequest>> requests_;  ///< all of them
  std::vector<ProxiedRequest*> spare_;
  AdmittedClients admitted_;
  std::unique_ptr<llm::Estimates> estimates_;  ///< made with the first call to a model
  net::Address last_address_;
  std::string last_text_;
  wire::Buffer scratch_;
};

}  // namespace weir::gateway
