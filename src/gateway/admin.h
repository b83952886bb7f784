// Health and metrics of a gateway for operators and load balancers, on an address of its own.
#pragma once

#include <atomic>
#include <string>

#include "gateway/gateway.h"
#include "net/handler.h"

namespace weir::gateway {

/// GET /livez, /readyz and /metrics. The gateway must outlive it.
class Admin final : public net::Handler {
 public:
  explicit Admin(Gateway& gateway) : gateway_(gateway) {}

  /// A gateway that is shutting down is alive but not ready.
  void set_ready(bool ready) { ready_.store(ready, std::memory_order_relaxed); }
  void handle(net::Exchange exchange) override;

 private:
  std::string metrics() const;

  Gateway& gateway_;
  std::atomic<bool> ready_{true};
};

}  // namespace weir::gateway
