// Health, metrics and the API of a gateway for operators and load balancers, on an address of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "gateway/gateway.h"
#include "net/handler.h"
#include "server/problem.h"

namespace weir::gateway {

/// The HTTP API on the store of the gateway, which the program provides: the gateway does not know the
/// service.
class AdminApi : public net::Handler {
 public:
  /// Reads the tokens again; an error changes nothing.
  virtual Result<void> reload() = 0;
  /// Answers requests that wait: the gateway is shutting down.
  virtual void stop() = 0;
};

/// GET /livez, /readyz and /metrics; and the API where there is one. Without it, /v1/decisions and
/// /v1/decisions/{id} as the service has them. The gateway must outlive it.
class Admin final : public net::Handler {
 public:
  explicit Admin(Gateway& gateway) : gateway_(gateway) {}

  /// Serves the API from now on. At most once.
  void set_api(std::unique_ptr<AdminApi> api) {
    owned_api_ = std::move(api);
    api_.store(owned_api_.get(), std::memory_order_release);
  }
  /// Null: none.
  AdminApi* api() const { return api_.load(std::memory_order_acquire); }
  /// Serves the decision log without the API. Only for loopback connections, since no token is required.
  void serve_decisions() { serves_decisions_ = true; }

  /// A gateway that is shutting down is alive but not ready.
  void set_ready(bool ready) { ready_.store(ready, std::memory_order_relaxed); }
  net::BodyPlan plan(const wire::http::RequestHead& request) override;
  void handle(net::Exchange exchange) override;
  void on_thread(net::Loop& loop) override;
  void describe(const wire::http::Refusal& refusal, wire::Buffer& fields, wire::Buffer& body) override;

 private:
  std::string metrics() const;
  server::Reply decisions(const wire::http::RequestHead& request) const;

  Gateway& gateway_;
  std::atomic<bool> ready_{true};
  std::unique_ptr<AdminApi> owned_api_;
  std::atomic<AdminApi*> api_{nullptr};
  bool serves_decisions_ = false;
};

}  // namespace weir::gateway
