// What a thread of the gateway has for itself: its connections to upstreams, the routes as it last saw them,
// and what requests use while they pass.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ref.h"
#include "gateway/counts.h"
#include "gateway/routing.h"
#include "gateway/upstream.h"
#include "server/thread_executor.h"
#include "wire/buffer.h"

namespace weir::gateway {

class Gateway;
class ProxiedRequest;

/// The upstreams of one route, on this thread.
struct Choices {
  std::vector<std::shared_ptr<Pool>> pools;
  std::size_t next = 0;
  RouteCounts* counts = nullptr;

  /// The next one in turn that is healthy; if none is, the next one.
  Pool& choose() {
    for (std::size_t i = 0; i < pools.size(); ++i) {
      Pool& pool = *pools[next++ % pools.size()];
      if (pools.size() == 1 || pool.healthy()) return pool;
    }
    return *pools[next++ % pools.size()];
  }
};

/// The routes with what this thread has for each. Kept by the requests that take them.
struct LocalRouting final : base::RefCounted<LocalRouting> {
  std::shared_ptr<const Routing> routing;
  std::unordered_map<const Route*, Choices> choices;
};
using LocalRoutingRef = base::Ref<LocalRouting>;

/// All members are for its own thread.
class ProxyWorker final : public server::ThreadExecutor {
 public:
  ProxyWorker(Gateway& gateway, net::Loop& loop, std::size_t number);
  ~ProxyWorker() override;

  /// The worker of this thread; null elsewhere.
  static ProxyWorker*& here() {
    thread_local ProxyWorker* worker = nullptr;
    return worker;
  }
  Gateway& gateway() { return gateway_; }
  /// The routes as they are now.
  const LocalRoutingRef& routing();
  RouteCounts& without_route() { return without_route_; }

  ProxiedRequest& take_passage();
  void give_back(ProxiedRequest& proxied);

  /// The address without its port; the last one is remembered.
  std::string_view text_of(const net::Address& address);
  /// For fields and trailers, while they are made.
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
  net::Address last_address_;
  std::string last_text_;
  wire::Buffer scratch_;
};

}  // namespace weir::gateway
